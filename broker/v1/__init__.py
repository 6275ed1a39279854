"""The resources under /v1: read-only JSON about the cluster, filled from the state of this broker.

Start at ``routes.py``. One file a subject; the shapes are in `views/`. Long work is done in slices (``slices.py``).
"""
