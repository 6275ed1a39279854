"""Runs a scenario against a ZooKeeper in memory on a loop whose waiting time passes at once."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

from pybroker.controller.tree.memory.memory_tree import MemoryTree
from simulation.machines.model_zookeeper import ModelZooKeeper

__all__ = ["on_virtual_loop", "on_virtual_time"]


class _ImpatientSelector(selectors.DefaultSelector):
    """A selector that never waits."""

    now_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "the loop waits for something that never comes"
            self.now_s += max(timeout, 0)
        return ready


class _VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._waits = _ImpatientSelector()
        super().__init__(self._waits)

    def time(self) -> float:
        return self._waits.now_s


def on_virtual_time(scenario: Callable[[ModelZooKeeper], Coroutine[Any, Any, None]], seed: int = 1) -> ModelZooKeeper:
    """The model after the scenario."""
    loop = _VirtualLoop()
    zookeeper = ModelZooKeeper(loop, Random(seed), lambda: round(loop.time() * 1000))
    try:
        loop.run_until_complete(scenario(zookeeper))
    finally:
        loop.close()
    return zookeeper


def on_virtual_loop(scenario: Callable[[MemoryTree], Coroutine[Any, Any, None]]) -> None:
    """Run the scenario on a tree whose sessions expire by the loop's time."""
    loop = _VirtualLoop()
    try:
        loop.run_until_complete(scenario(MemoryTree(lambda: round(loop.time() * 1000), loop.time)))
    finally:
        loop.close()
