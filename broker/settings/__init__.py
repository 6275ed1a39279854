"""Settings that change while the broker runs: layers, live updates, topic overrides, log levels."""
