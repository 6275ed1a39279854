"""The last log lines are kept in bounded memory."""

import logging
from collections.abc import Iterator

import pytest
from pybroker.base.event_marks import marked
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.events.recent_events import MOST_EVENTS, RecentEvents


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    made = logging.getLogger("pybroker.storage.log.log")
    before = made.level
    made.setLevel(logging.DEBUG)
    yield made
    made.setLevel(before)


@pytest.fixture
def recent() -> Iterator[RecentEvents]:
    made = RecentEvents()
    made.attach()
    yield made
    made.detach()


def test_last_events_come_newest_first_with_their_fields(recent: RecentEvents, logger: logging.Logger) -> None:
    logger.info("%s: rolled to a new segment at offset %d", TopicPartition("orders", 3), 7)
    logger.debug("not kept")
    logger.warning("something else")
    newest, rolled = recent.newest_first()
    assert (newest.event, newest.level, newest.text) == (None, "WARNING", "something else")
    assert rolled.event == "log.rolled"
    assert rolled.text == "orders-3: rolled to a new segment at offset 7"
    assert rolled.fields == {"topic": "orders", "partition": 3, "offset": 7}
    assert recent.newest_first(1) == [newest]


def test_events_are_bounded_in_number_and_size(recent: RecentEvents) -> None:
    for number in range(3 * MOST_EVENTS):
        made = logging.LogRecord("pybroker.a", logging.INFO, "a.py", number, "x" * 100_000, None, None)
        vars(made).update(marked("peer.offence.login", peer="x" * 100_000))
        recent.handle(made)
    events = recent.newest_first()
    assert len(events) == MOST_EVENTS
    assert max(len(event.text) for event in events) < 1100
    assert max(len(str(event.fields["peer"])) for event in events) < 200


def test_repeated_lines_do_not_drive_out_other_events(recent: RecentEvents, logger: logging.Logger) -> None:
    logger.error("a disk failed")
    for number in range(3 * MOST_EVENTS):
        logger.info("member %d", number)
    events = recent.newest_first()
    assert events[-1].text == "a disk failed"
    assert len(events) < 20


def test_nothing_is_kept_after_the_end(recent: RecentEvents, logger: logging.Logger) -> None:
    recent.detach()
    logger.info("later")
    assert recent.newest_first() == []
