"""Hides parts of JSON values: `$.card`, `$.user.email`, `$.items[0].price`, and `$.items[*].price` for all items.

A value that is no JSON is hidden as a whole, because nobody can tell what it contains.
"""

from __future__ import annotations

import json
import re
from typing import Any

MASKED = "***"
_HIDDEN = b"(hidden: the console masks values, and this value is no JSON)"
_PATH = re.compile(r"\$(?:\.[\w$\-]+|\[(?:\d{1,6}|\*)\])+")
_STEP = re.compile(r"\.([\w$\-]+)|\[(\d+|\*)\]")


class MaskError(ValueError):
    """A path has not the form of `$.card`."""


class Masks:
    """The paths that are hidden; without paths everything is shown."""

    def __init__(self, paths: tuple[str, ...]) -> None:
        """Raises MaskError."""
        for path in paths:
            if not _PATH.fullmatch(path):
                raise MaskError(f"'{path}' must be like $.card, $.user.email or $.items[*].price")
        self.paths = paths
        self._steps = [_STEP.findall(path) for path in paths]

    def __bool__(self) -> bool:
        return bool(self.paths)

    def masked(self, value: bytes | None) -> bytes | None:
        """Returns the value as it may be shown."""
        if value is None or not self._steps:
            return value
        try:
            decoded = json.loads(value.decode())
        except (ValueError, RecursionError):
            return _HIDDEN
        changed = [_mask(decoded, steps) for steps in self._steps]
        return json.dumps(decoded, ensure_ascii=False).encode("utf-8", "surrogatepass") if any(changed) else value


def _mask(value: Any, steps: list[tuple[str, str]]) -> bool:
    """Replace what the steps lead to; returns whether anything was replaced."""
    (member, index), rest = steps[0], steps[1:]
    places: list[Any] = []
    if member and isinstance(value, dict) and member in value:
        places = [member]
    elif index and isinstance(value, list):
        places = list(range(len(value))) if index == "*" else [int(index)] if int(index) < len(value) else []
    found = False
    for place in places:
        if rest:
            found = _mask(value[place], rest) or found
        else:
            value[place] = MASKED
            found = True
    return found
