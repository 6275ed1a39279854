"""``pybroker acls``: access rules of a cluster."""
