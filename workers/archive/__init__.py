"""The Git archive: every snapshot reviewable, and the hub restorable from it alone."""
