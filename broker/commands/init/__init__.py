"""``pybroker init``: writes the files of a cluster in containers."""
