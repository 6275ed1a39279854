"""The import of a broker leaves Python's garbage collection as it was."""

import gc
import weakref
from collections.abc import Iterator

import pytest
from pybroker.testkit.plugin import without_collections


class Ring:
    def __init__(self) -> None:
        self.next = self


@pytest.fixture(params=[True, False], ids=["enabled", "disabled"])
def is_enabled(request: pytest.FixtureRequest) -> Iterator[bool]:
    was_enabled = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if was_enabled else gc.disable)()


def test_garbage_from_before_and_during_an_import_is_collected_afterwards(is_enabled: bool) -> None:
    before = Ring()
    with without_collections():
        assert not gc.isenabled()
        during = Ring()
    assert gc.isenabled() == is_enabled
    rings = [weakref.ref(before), weakref.ref(during)]
    del before, during
    gc.collect()
    assert [ring() for ring in rings] == [None, None]


def test_objects_that_the_program_froze_stay_frozen() -> None:
    had_frozen = gc.get_freeze_count()
    frozen = Ring()
    gc.freeze()
    try:
        with without_collections():
            pass
        assert not any(tracked is frozen for tracked in gc.get_objects())  # frozen objects are not listed
    finally:
        if not had_frozen:
            gc.unfreeze()
