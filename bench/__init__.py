"""Measurements against limits taken in the same run."""
