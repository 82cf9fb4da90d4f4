"""DeepSeek Harness: session logs of formats v0 to v4 in, of v4 out."""
