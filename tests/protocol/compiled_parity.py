"""Compiled modules against the same sources uncompiled. Run by tests/test_compiled_build.py where both are there."""

import importlib
import importlib.util
import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pybroker.protocol.records.builder import encode_record
from support.examples import examples

PACKAGE = "pybroker.protocol.records"
NAMES = ("varint", "walk", "compaction_walk", "summary_walk")
INT64_MAX = (1 << 63) - 1


def uncompiled() -> dict[str, ModuleType]:
    """Load the compiled modules from their `.py` files, each importing the other uncompiled ones."""
    found: dict[str, ModuleType] = {}
    kept = {name: sys.modules[f"{PACKAGE}.{name}"] for name in NAMES}
    try:
        for name in NAMES:
            path = Path(str(kept[name].__file__)).with_name(f"{name}.py")
            spec = importlib.util.spec_from_file_location(f"{PACKAGE}.{name}", path)
            assert spec is not None
            assert spec.loader is not None
            found[name] = sys.modules[f"{PACKAGE}.{name}"] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(found[name])
    finally:
        sys.modules.update({f"{PACKAGE}.{name}": module for name, module in kept.items()})
    return found


COMPILED = {name: importlib.import_module(f"{PACKAGE}.{name}") for name in NAMES}
UNCOMPILED = uncompiled()


def test_compiled_and_uncompiled_modules_are_what_their_names_say() -> None:
    assert {Path(str(module.__file__)).suffix for module in COMPILED.values()} == {".so"}
    assert {Path(str(module.__file__)).suffix for module in UNCOMPILED.values()} == {".py"}
    assert UNCOMPILED["walk"].read_unsigned is UNCOMPILED["varint"].read_unsigned


# --- the outcome of a call: its result or error, and its arguments afterwards --------------------------


def outcome_of(call: Callable[..., object], *arguments: object) -> object:
    try:
        return call(*arguments)
    except Exception as error:
        return type(error).__name__, str(error)


def walked(walk: ModuleType, data: bytes, count: int, *further: object) -> object:
    found: list[tuple[object, ...]] = []

    def run() -> None:
        for each in walk.walk_records(data, count, *further):
            # Appended one by one: what came before an error counts.
            found.append((each.offset, each.timestamp_ms, each.key, each.value, each.headers, each.sequence))  # noqa: PERF401

    return outcome_of(run), found


def noted(walks: ModuleType, *arguments: object) -> object:
    offsets = {b"a": 3}
    return outcome_of(lambda: walks.note_keys(*arguments, offsets)), offsets


def summarized(walks: ModuleType, *arguments: object) -> object:
    return outcome_of(lambda: tuple(walks.summarize_records(*arguments, lambda: None)))


def kept(walks: ModuleType, *arguments: object) -> object:
    """Return the spans of a result; an error is a tuple and stays."""
    *most, drop_tombstones = arguments
    return outcome_of(lambda: list(walks.spans_to_keep(*most, drop_tombstones=drop_tombstones)))


def rebased(walks: ModuleType, *arguments: object) -> object:
    return outcome_of(lambda: tuple(walks.rebased(*arguments)))


def agree_on(data: bytes, count: int, last_delta: int, offsets: dict[bytes, int], chance: random.Random) -> None:
    """Check that all walks over `data` agree, with extreme header fields."""
    base = chance.choice((0, 1000, INT64_MAX - 5, INT64_MAX))
    timestamp = chance.choice((0, 1_700_000_000_000, INT64_MAX, -INT64_MAX - 1))
    sequence = chance.choice((-1, 0, 0x7FFFFFFF))
    append_time = chance.choice((None, 5))
    both = [(each["walk"], each["compaction_walk"], each["summary_walk"]) for each in (COMPILED, UNCOMPILED)]
    compiled, plain = (
        (
            walked(walk, data, count, base, last_delta, timestamp, sequence, append_time),
            noted(compaction, data, count, base, base + 1, max(count // 2, 1)),
            summarized(summary, data, count, base, last_delta, timestamp),
            outcome_of(summary.may_have_headers, data, count),
            kept(compaction, data, count, base, base + 3, offsets, append_time is None),
        )
        for walk, compaction, summary in both
    )
    assert compiled == plain
    spans = plain[4]
    if isinstance(spans, list):
        horizon = chance.choice((None, 0, INT64_MAX))
        one, other = (rebased(compaction, data, spans[0], timestamp, append_time, horizon) for _, compaction, _ in both)
        assert one == other


# --- the bytes ---------------------------------------------------------------------------------------------------

KEYS = st.sampled_from([None, b"", b"a", b"b", b"k" * 31, b"l" * 200])
VALUES = st.sampled_from([None, b"", b"v", b"v" * 70, b"v" * 9000])
HEADERS = st.sampled_from([(), (("h", b"1"),), (("\udcff", None), ("i", b"x" * 100))])
STEPS = st.one_of(st.just(1), st.integers(-1, 300))
"""From one offset to the next: the ones that no broker would take, too."""
DRAWN = st.lists(st.tuples(STEPS, st.integers(-(1 << 62), 1 << 62), KEYS, VALUES, HEADERS), min_size=1, max_size=8)
Drawn = list[tuple[int, int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]]


def batch_of(drawn: Drawn) -> tuple[bytes, int, int]:
    """Return (payload, record count, last offset delta) of a batch."""
    payload, delta = b"", 0
    for step, timestamp_delta, key, value, headers in drawn:
        payload += encode_record(delta, timestamp_delta, key, value, headers)
        delta += step
    return payload, len(drawn), delta


@settings(max_examples=examples(300))
@given(DRAWN, st.randoms(use_true_random=False))
def test_whole_batches_give_the_same_result_compiled_and_uncompiled(drawn: Drawn, chance: random.Random) -> None:
    data, count, last_delta = batch_of(drawn)
    agree_on(data, count, last_delta, {b"a": 2, b"b": 5}, chance)


@settings(max_examples=examples(300))
@given(DRAWN, st.randoms(use_true_random=False), st.integers(1, 4))
def test_damaged_batches_give_the_same_result_compiled_and_uncompiled(
    drawn: Drawn, chance: random.Random, damages: int
) -> None:
    data, count, last_delta = batch_of(drawn)
    damaged = bytearray(data)
    for _ in range(damages):
        position = chance.randrange(len(damaged) + 1)
        damaged[position : position + chance.choice((0, 1, 1, 1, 9))] = chance.choice(
            (b"", b"\x00", b"\x01", b"\x7f", b"\x80", b"\xff", b"\xff" * 10, chance.randbytes(2))
        )
    for wrong in (count, count + chance.choice((-1, 1, 0x7FFFFFFF - count))):
        agree_on(bytes(damaged), wrong, last_delta, {b"a": 2}, chance)


@given(st.binary(max_size=60), st.integers(-1, 5), st.randoms(use_true_random=False))
def test_any_bytes_give_the_same_result_compiled_and_uncompiled(data: bytes, count: int, chance: random.Random) -> None:
    agree_on(data, count, 5, {}, chance)


@pytest.mark.parametrize("bits", [32, 64])
@given(data=st.binary(max_size=14), position=st.integers(0, 3))
def test_varints_are_read_the_same_compiled_and_uncompiled(data: bytes, position: int, bits: int) -> None:
    one, other = (outcome_of(each["varint"].read_unsigned, data, position, bits) for each in (COMPILED, UNCOMPILED))
    assert one == other


@given(st.one_of(st.integers(0, 1 << 65), st.integers(0, 200)))
def test_varints_are_written_the_same_compiled_and_uncompiled(value: int) -> None:
    one, other = (outcome_of(each["varint"].encode_unsigned, value) for each in (COMPILED, UNCOMPILED))
    assert one == other


def test_many_records_give_the_same_result_compiled_and_uncompiled() -> None:
    """The counts, offsets and positions need more than two bytes."""
    data = b"".join(encode_record(number, number, b"%d" % number, b"") for number in range(80_000))
    agree_on(data, 80_000, 79_999, {}, random.Random(1))
