"""The modes of decoders: a value that can't be decoded becomes an error in its row, or fails the query."""

__all__ = ["FAIL", "KEEP", "checked"]

KEEP, FAIL = "keep", "fail"
_MODES = (KEEP, FAIL)


def checked(mode: str) -> str:
    """Returns the mode. Raises ValueError if it is unknown."""
    if mode not in _MODES:
        raise ValueError(f"mode must be one of {', '.join(_MODES)}, not {mode}")
    return mode
