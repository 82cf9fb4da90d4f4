"""Claude Code's transcripts (JSON lines, a tree by parentUuid; learned from CLI 2.1.14 to 2.1.144, November 2026)."""
