"""Objects that survive long garbage collections are frozen, and collected again from time to time."""

import subprocess
import sys
import textwrap

import pytest
from pybroker.broker.process.gc_tuning import LONG_S, PAUSE_FACTOR, GcTuning


class World:
    """A collector with a clock."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.calls: list[str] = []
        self.collections = GcTuning(self, lambda: self.now_s)

    def freeze(self) -> None:
        self.calls.append("freeze")

    def unfreeze(self) -> None:
        self.calls.append("unfreeze")

    def collect(self, took_s: float, generation: int = 2) -> list[str]:
        """Returns the calls made to the collector after a collection of that length."""
        self.calls.clear()
        self.collections.note("start", {"generation": generation})
        self.now_s += took_s
        self.collections.note("stop", {"generation": generation})
        return self.calls


@pytest.fixture
def world() -> World:
    return World()


def test_short_collections_and_those_of_young_objects_change_nothing(world: World) -> None:
    assert world.collect(LONG_S / 2) == []
    assert world.collect(1, generation=1) == []
    assert world.collect(LONG_S / 2) == []


def test_frozen_objects_are_collected_for_at_most_a_hundredth_of_the_time(world: World) -> None:
    assert world.collect(1) == ["freeze"]
    assert world.collect(2) == ["unfreeze", "freeze"]  # it is not known yet how long that takes
    assert world.collect(0.01) == []  # nothing was left out since
    assert world.collect(0.1) == ["freeze"]
    world.now_s += 2 * PAUSE_FACTOR - 1
    assert world.collect(0.1) == ["freeze"]
    world.now_s += 1
    assert world.collect(3) == ["unfreeze", "freeze"]
    world.now_s += 2 * PAUSE_FACTOR
    assert world.collect(0.1) == ["freeze"]
    assert world.collect(0.1) == ["freeze"]


def test_garbage_among_frozen_objects_is_collected_later() -> None:
    """This test uses Python's own collector."""
    program = """
        import gc, itertools, weakref
        from pybroker.broker.process.gc_tuning import GcTuning

        class Node:
            pass

        seconds = itertools.count()
        gc.callbacks.append(GcTuning(gc, lambda: next(seconds)).note)
        node = Node()
        node.itself = node
        gone = weakref.ref(node)
        gc.collect()
        assert gc.get_freeze_count() > 0
        del node
        gc.collect()  # the first look at everything
        assert gone() is None
        node = Node()
        node.itself = node
        gone = weakref.ref(node)
        gc.collect()
        del node
        gc.collect()
        assert gone() is not None
        for _ in range(200):
            gc.collect()
        assert gone() is None
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True)
