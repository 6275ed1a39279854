"""Durations in words."""

__all__ = ["duration_text"]

_MINUTE_S, _HOUR_S, _DAY_S = 60, 3_600, 86_400
_DAYS_FROM_S = 48 * _HOUR_S


def duration_text(seconds: float) -> str:
    """Return two units at most: ``0.4 s``, ``41 s``, ``6 m 31 s``, ``14 h 2 m``, ``9 d``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < _MINUTE_S:
        return f"{whole} s"
    if whole < _HOUR_S:
        return f"{whole // _MINUTE_S} m {whole % _MINUTE_S} s"
    if whole < _DAYS_FROM_S:
        return f"{whole // _HOUR_S} h {whole % _HOUR_S // _MINUTE_S} m"
    return f"{whole // _DAY_S} d"
