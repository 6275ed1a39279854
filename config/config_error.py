"""The one error of this room."""


class ConfigError(Exception):
    """Bad input in a file of settings, on the command line or in a topic's configs; its text is one plain line."""
