"""The broker: network, requests, coordinators, and links to other brokers. May import every folder but `pipeline/`."""
