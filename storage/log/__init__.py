"""One log: a list of segments that is appended to, truncated, trimmed and read."""
