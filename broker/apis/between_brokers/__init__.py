"""APIs that only brokers and controllers call."""
