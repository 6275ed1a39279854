"""The broker's HTTP endpoint: HTTP/1.1 for probes, metrics and read-only JSON, and for the test kit if it is on.

Start at ``router.py`` (where handlers are added) and ``server.py``.
"""
