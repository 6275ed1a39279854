"""Makes Grafana's boards and Prometheus' alerts in `monitoring/` from the table of series."""
