"""The log: append, read, tail and fork a session's events."""
