"""OpenCode's sessions (its export document; learned from opencode-ai 1.1.65, 1.2.27 and 1.18.33, November 2026)."""
