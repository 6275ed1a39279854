"""Compares answers of the made-up cluster with real answers, so that the pages are tested with real shapes."""

from typing import Any

__all__ = ["lacking"]


def lacking(made_up: Any, real: Any, place: str = "") -> list[str]:
    """The fields of the made-up answer that the real answer lacks. Lists are compared by their first items."""
    if isinstance(made_up, dict) and isinstance(real, dict):
        missing = [f"{place}.{name}" for name in made_up if name not in real]
        known = [(name, value) for name, value in made_up.items() if name in real]
        return missing + [each for name, value in known for each in lacking(value, real[name], f"{place}.{name}")]
    if isinstance(made_up, list) and isinstance(real, list) and made_up and real:
        return lacking(made_up[0], real[0], f"{place}[]")
    return []
