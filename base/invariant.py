"""Checks of values that this program computed; a failure is a bug, never bad input."""

from __future__ import annotations


class InvariantError(Exception):
    """A condition that must hold does not; going on would serve or write wrong data."""


def invariant(condition: bool, message: str) -> None:
    """Raise InvariantError unless `condition`; unlike `assert` it stays under `python -O`.

    `message` is built in any case, so hot code tests the condition and raises the error itself.
    """
    if not condition:
        raise InvariantError(message)
