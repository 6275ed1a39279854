"""Why a broker did not start."""


class StartError(Exception):
    """Something outside the settings keeps the broker from starting: a port in use, a locked directory, a damaged file.

    The text is one plain line for the person at the terminal: what is wrong, where, and what to do about it.
    """
