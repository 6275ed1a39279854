"""`pybroker log`: prints, checks and sums up log directories."""
