"""Gemini CLI's session logs: what each record says, how the log folds into a session, and both ways to standard messages."""
