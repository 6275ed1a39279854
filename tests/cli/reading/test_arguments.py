"""Times, sizes, partitions and settings are read from arguments as people mean them."""

from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.base.command_parser import CommandError
from pybroker.cli.reading.moments import moment_ms
from pybroker.cli.reading.partitions import topic_part
from pybroker.cli.reading.quantities import bytes_in, number_in
from pybroker.cli.reading.settings import changes_in

NOW_S = 1_700_000_000.0


@given(st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1)))
def test_time_with_a_zone_is_that_moment(moment: datetime) -> None:
    moment = moment.replace(microsecond=0, tzinfo=UTC)
    assert moment_ms(moment.isoformat()) == moment.timestamp() * 1000


@pytest.mark.parametrize(
    ("text", "ms"), [("now", 0), ("90m", -5_400_000), ("1.5h", -5_400_000), ("250ms", -250), ("2w", -1_209_600_000)]
)
def test_length_of_time_is_that_long_ago(text: str, ms: int) -> None:
    assert moment_ms(text, lambda: NOW_S) == NOW_S * 1000 + ms


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused_by_a_command_error(text: str) -> None:
    for read in (moment_ms, topic_part, bytes_in, number_in, lambda given: changes_in([given])):
        with suppress(CommandError):
            read(text)


@pytest.mark.parametrize(("text", "size"), [("1MB", 10**6), ("1MiB", 2**20), ("1.5k", 1500), ("7", 7), ("2 GB", 2e9)])
def test_sizes_are_decimal_unless_they_have_an_i(text: str, size: float) -> None:
    assert bytes_in(text) == size


def test_partitions_are_single_or_ranges() -> None:
    assert topic_part("a:0-2,7").partitions == frozenset({0, 1, 2, 7})
    assert topic_part("a").partitions is None
    for wrong in ("a:", "a:2-1", "a:x", "a:0-99999999"):
        with pytest.raises(CommandError):
            topic_part(wrong)


def test_setting_with_a_minus_is_reset() -> None:
    assert changes_in(["a=1", "b-", "c=x-"], ["d"]) == {"a": "1", "b": None, "c": "x-", "d": None}
