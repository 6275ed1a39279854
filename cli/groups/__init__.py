"""``pybroker groups``: groups, their members, offsets and lag."""
