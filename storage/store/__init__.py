"""All logs of a broker: log directories, creation, deletion, moves, and background upkeep."""
