"""``pybroker doctor``: numbered checks of a cluster from the side of its clients."""
