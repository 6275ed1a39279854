"""Every log line has an event, and every event has a log line."""

import re
from collections import Counter
from pathlib import Path

import pytest
from pybroker.broker.events.event import Event
from pybroker.broker.events.table import EVENTS, ROOMS
from pybroker.broker.network.offender_log import Violation, event_of
from pybroker.broker.security.tls.failures import Cause
from pybroker.config.table import BROKER_SETTINGS, DYNAMIC_ONLY_SETTINGS, TOPIC_SETTINGS
from support.log_calls import VARIES, LogCall, log_calls

CALLS = list(log_calls())
PEERS = [event_of(each) for each in (*Violation, *Cause)]
# These calls name their events as they run.
NAMED_AT_RUN_TIME = {
    "broker/network/offender_log.py": set(PEERS),
    "broker/security/acl/authorizer_log.py": {"acl.verdict"},
}
RETIRED: set[str] = set()
STABLE_IDS = Path(__file__).parent / "event_ids.txt"
RESERVED = {"ts", "level", "logger", "event", "left_out", "traceback"}


def key(event: Event) -> tuple[str, str]:
    return (event.file, event.template) if event.template else ("", event.id)


def key_of_call(call: LogCall) -> tuple[str, str]:
    assert call.event is not None
    return ("", call.event) if call.event else (call.file, call.template or "")


STATIC_CALLS = [call for call in CALLS if call.event is not None]


def test_texts_of_log_lines_are_literals() -> None:
    assert [call.place for call in CALLS if call.template is None] == []


def test_every_log_line_has_an_event() -> None:
    rows = {key(event) for event in EVENTS.values()}
    assert [f"{call.place}: {call.template}" for call in STATIC_CALLS if key_of_call(call) not in rows] == []
    assert {call.file for call in CALLS if call.event is None} == set(NAMED_AT_RUN_TIME)


def test_every_event_has_a_log_line() -> None:
    named = {id_ for ids in NAMED_AT_RUN_TIME.values() for id_ in ids}
    calls = {key_of_call(call) for call in STATIC_CALLS}
    assert [event.id for event in EVENTS.values() if event.id not in named and key(event) not in calls] == []
    assert named - set(EVENTS) == set()


def test_events_name_every_value_of_their_lines() -> None:
    values = {key_of_call(call): call.argument_count for call in STATIC_CALLS}
    wrong = {
        event.id: (len(event.arguments), values[key(event)])
        for event in EVENTS.values()
        if event.template and len(event.arguments) != values[key(event)]
    }
    assert wrong == {}


def test_levels_of_events_are_those_of_their_lines() -> None:
    levels = {key_of_call(call): call.level for call in STATIC_CALLS}
    wrong = [event.id for event in EVENTS.values() if levels.get(key(event), event.level) not in (event.level, VARIES)]
    assert wrong == []


def test_files_of_events_are_those_of_their_lines() -> None:
    files = {call.event: call.file for call in STATIC_CALLS if call.event}
    wrong = [event.id for event in EVENTS.values() if files.get(event.id, event.file) != event.file]
    assert wrong == []


def test_ids_are_unique_and_grouped() -> None:
    rows = [event.id for events in ROOMS.values() for event in events]
    assert [name for name, count in Counter(rows).items() if count > 1] == []
    assert [name for name in rows if not re.fullmatch(r"[a-z-]+(\.[a-z-]+){1,2}", name)] == []
    places = Counter((event.file, event.template) for event in EVENTS.values() if event.template)
    assert [place for place, count in places.items() if count > 1] == []


def test_ids_never_change() -> None:
    """People search and alert by ids: an id in the list must stay; a line that is gone leaves its id in the list."""
    known = STABLE_IDS.read_text().splitlines()
    assert known == sorted(set(known))
    assert sorted(set(EVENTS) - set(known)) == [], "add these ids to event_ids.txt"
    assert sorted(set(known) - set(EVENTS) - RETIRED) == [], (
        "an id never changes; if its line is gone, add it to RETIRED"
    )
    assert RETIRED & set(EVENTS) == set(), "these ids belonged to other lines"


def test_names_of_fields_are_not_reserved() -> None:
    wrong = {
        event.id: event.arguments
        for event in EVENTS.values()
        if RESERVED.intersection(event.arguments)
        or len(set(event.arguments)) != len(event.arguments)
        or not all(re.fullmatch(r"[a-z_]+", name) for name in event.arguments)
    }
    assert wrong == {}


CLIENT_SETTINGS = {
    "auto.offset.reset",
    "max.poll.interval.ms",
    "max.poll.records",
    "session.timeout.ms",
    "transaction.timeout.ms",
    "security.protocol",
    "sasl.mechanism",
    "sasl.jaas.config",
    "ssl.keystore",
    "ssl.truststore",
    "group.instance.id",
}


OTHER_NAMES = {"meta.properties", "super.users", "listener.name"}


@pytest.mark.parametrize("part", ["meaning", "remedy"])
def test_texts_are_sentences_about_settings_that_exist(part: str) -> None:
    known = {*BROKER_SETTINGS, *TOPIC_SETTINGS, *DYNAMIC_ONLY_SETTINGS, *CLIENT_SETTINGS, *EVENTS, *OTHER_NAMES}
    texts = {event.id: getattr(event, part) for event in EVENTS.values()}
    assert {name: text for name, text in texts.items() if not re.fullmatch(r"[A-Z`].*\.", text, re.DOTALL)} == {}
    names = {name: set(re.findall(r"(?<![\w/.<>-])[a-z]+(?:\.[a-z]+)+(?![\w/.-]\w)", texts[name])) for name in texts}
    assert {name: found - known for name, found in names.items() if found - known} == {}
