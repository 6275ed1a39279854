"""``pybroker explain``: says why something is as it is, which client or broker is the reason, and what to try."""
