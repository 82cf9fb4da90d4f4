"""`messages`: a standard session file (JSON lines; a header, then a standard message or native records a line)."""
