"""Lets tests look into a running broker: records, lags, waits for events, copies of its data, last requests."""
