"""The error for bad settings."""


class ConfigError(Exception):
    """A bad setting in a file, on the command line or of a topic; its text is one plain line."""
