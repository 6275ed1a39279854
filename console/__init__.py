"""The web console: a process of its own that shows a Kafka cluster to people.

It speaks Kafka to the cluster, with the connections and the rights of whoever has logged in. It asks pybrokers' HTTP
ports for what only they know. `command.py` is the command, `app.py` lists the paths.
"""
