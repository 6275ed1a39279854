"""The cluster's metadata on this broker: topics, leaders, brokers and their addresses."""
