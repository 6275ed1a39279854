"""What tests ask a running broker: records, lags, waiting for events, copies of its data, last requests."""
