"""How other agents spell a session: pure functions from and to standard messages."""
