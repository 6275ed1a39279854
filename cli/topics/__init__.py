"""``pybroker topics``: lists, creates, changes and deletes topics."""
