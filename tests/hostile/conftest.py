"""Fixtures: a broker process under attack, and a well-behaved client that must not notice."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.processes.arena import Arena, arena

__all__: list[str] = []

OpenArena = Callable[..., Arena]


@pytest.fixture
def open_arena(tmp_path: Path) -> Iterator[OpenArena]:
    """Return a function: ``open_arena({setting: value})`` starts a broker with these settings for the test."""
    with ExitStack() as stack:
        yield lambda settings=None: stack.enter_context(arena(tmp_path, settings))


@pytest.fixture
def field(open_arena: OpenArena) -> Arena:
    """A broker with default settings."""
    return open_arena()
