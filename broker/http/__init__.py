"""The broker's HTTP endpoint: GET and HEAD over HTTP/1.1, for probes, metrics and read-only JSON.

Start at ``router.py`` (where handlers are added) and ``server.py``.
"""
