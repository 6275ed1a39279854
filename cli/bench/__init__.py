"""``pybroker bench``: measures a cluster."""
