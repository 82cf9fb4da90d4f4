"""Codex CLI: its rollout files, one JSON line per record (`@openai/codex`, learned from 0.171.0 and from files of early 2026)."""
