"""Hermes Agent's sessions (a session's columns and its rows; learned from 0.19.0, schema 22, November 2026)."""
