"""Views of a cluster in the shapes of /v1, from Kafka's protocol and from pybrokers' HTTP ports."""
