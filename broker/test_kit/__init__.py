"""The test kit: faults and acts over HTTP, for tests of clients in any language (``--test-kit``).

Start at ``kit.py``.
"""
