"""Checks of what this code itself computed; a failure is a bug here, never a bad input."""

from __future__ import annotations


class InvariantError(Exception):
    """Something that must hold does not: going on would serve or write wrong data."""


def invariant(condition: bool, message: str) -> None:
    """Raise InvariantError unless `condition`; unlike `assert` it stays under `python -O`.

    `message` is made either way, so what each append passes raises the error itself.
    """
    if not condition:
        raise InvariantError(message)
