"""Metrics of the broker: the table of series, the registry of their sources, and the text that Prometheus reads."""
