"""Which cluster a command talks to, and how: addresses, settings with Kafka's names, profiles."""
