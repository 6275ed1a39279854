"""Kafka's server-side assignors, which decide which member gets which partition."""
