"""Answers that clients do not read: who has to go for them."""

from pybroker.broker.network.unsent_memory import UnsentMemory


class Reader:
    def __init__(self, memory: UnsentMemory) -> None:
        self.memory = memory
        self.is_closed = False

    def hold(self, size_bytes: int) -> None:
        self.memory.hold(self, size_bytes)

    def close_as_slow(self) -> None:
        self.is_closed = True
        self.memory.forget(self)


def test_up_to_the_limit_all_stay() -> None:
    memory = UnsentMemory(100)
    readers = [Reader(memory) for _ in range(4)]
    for reader in readers:
        reader.hold(25)
    assert memory.used_bytes == 100
    assert not any(reader.is_closed for reader in readers)


def test_over_the_limit_those_stuck_for_longest_go_and_no_more_than_needed() -> None:
    memory = UnsentMemory(100)
    readers = [Reader(memory) for _ in range(4)]
    for reader in readers[:3]:
        reader.hold(30)
    readers[3].hold(50)
    assert [reader.is_closed for reader in readers] == [True, True, False, False]
    assert memory.used_bytes == 80


def test_one_that_is_told_of_again_counts_once_and_keeps_its_place() -> None:
    memory = UnsentMemory(100)
    first, second = Reader(memory), Reader(memory)
    first.hold(40)
    second.hold(40)
    first.hold(50)
    assert memory.used_bytes == 90
    second.hold(60)
    assert (first.is_closed, second.is_closed) == (True, False)
    assert memory.used_bytes == 60


def test_one_that_reads_again_counts_no_more_and_is_stuck_anew_later() -> None:
    memory = UnsentMemory(100)
    first, second = Reader(memory), Reader(memory)
    first.hold(60)
    memory.forget(first)
    memory.forget(first)
    assert memory.used_bytes == 0
    second.hold(60)
    first.hold(60)
    assert (first.is_closed, second.is_closed) == (False, True)


def test_one_that_holds_more_than_the_limit_alone_goes() -> None:
    memory = UnsentMemory(100)
    reader = Reader(memory)
    reader.hold(101)
    assert reader.is_closed
    assert memory.used_bytes == 0
