"""The one schema: messages, events and requests, and the codec that keeps their bytes."""
