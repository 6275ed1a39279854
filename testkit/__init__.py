"""The pytest plugin: fixtures that give tests Kafka brokers, clusters, topics and clients."""
