"""Commands for any Kafka cluster, by Kafka's protocol: ``pybroker topics``, ``groups``, ``consume`` and so on."""
