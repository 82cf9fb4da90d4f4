"""The command line: it serves the hub, and else is a client of one."""
