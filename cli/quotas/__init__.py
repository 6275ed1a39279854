"""``pybroker quotas``: limits for users, client ids and addresses."""
