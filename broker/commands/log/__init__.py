"""`pybroker log`: prints, checks and summarises log directories."""
