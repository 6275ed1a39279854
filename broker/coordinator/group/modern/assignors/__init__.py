"""Who gets which partition: Kafka's server-side assignors."""
