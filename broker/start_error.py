"""The error for a broker that cannot start."""


class StartError(Exception):
    """The broker cannot start for a reason outside the settings: a port in use, a locked directory, a damaged file.

    The text is one line for the user: what is wrong, where, and what to do.
    """
