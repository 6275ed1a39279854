"""``pybroker configs``: settings of topics, brokers, groups and loggers of brokers."""
