"""Each log line is one JSON object with stable names, whatever bytes clients choose."""

import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.base.event_marks import marked
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.commands.command_line import main
from pybroker.broker.events.event import Event
from pybroker.broker.events.json_line import JsonLineFormatter, time_text
from pybroker.broker.events.record_fields import LONGEST_FIELD
from pybroker.broker.events.table import EVENTS
from pybroker.broker.process.log_lines import LogRateLimit
from support.processes.broker_process import BrokerProcess

FIRST = {"ts", "level", "logger", "event", "msg"}


def record(
    template: str, *values: object, logger: str = "pybroker.a", extra: Mapping[str, object] | None = None
) -> logging.LogRecord:
    made = logging.LogRecord(logger, logging.INFO, "a.py", 1, template, values, None)
    made.created = 1.5
    vars(made).update(extra or {})
    return made


def line_of(made: logging.LogRecord) -> dict[str, Any]:
    text = JsonLineFormatter().format(made)
    assert text.isascii()
    assert "\n" not in text
    line = json.loads(text, parse_constant=pytest.fail)
    assert isinstance(line, dict)
    text.encode().decode("utf-8", "strict")
    json.dumps(line, ensure_ascii=False).encode()  # no half of a surrogate pair
    return line


def example_of(event: Event, text: str) -> logging.LogRecord:
    """A line of the event, with values of the kinds that its template takes."""
    kinds = re.findall(r"%(?:\.\d+)?([a-z])", event.template.replace("%%", ""))
    values = [text if kind in "sr" else 7 for kind in kinds]
    if event.template:
        return record(event.template, *values, logger=event.logger)
    return record("%s", text, logger=event.logger, extra=marked(event.id, peer=text))


@pytest.mark.parametrize("name", EVENTS)
def test_line_of_each_event_has_its_id_and_its_fields(name: str) -> None:
    event = EVENTS[name]
    line = line_of(example_of(event, "a-3"))
    assert line["event"] == name
    assert line["ts"] == "1970-01-01T00:00:01.500Z"
    if event.template:
        assert set(line) >= set(event.arguments)


HOSTILE = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=30),
    st.sampled_from(["\ud800", "\udc80\x00\x1b[31m\n", "𝄞" * 3000, "%s %d", '"}', "\u2028", "orders-3"]),
    st.binary(max_size=10).map(lambda raw: raw.decode("utf-8", "surrogateescape")),
)


@given(HOSTILE, st.sampled_from(sorted(EVENTS)))
def test_line_is_valid_and_bounded_whatever_text_clients_choose(text: str, name: str) -> None:
    made = example_of(EVENTS[name], text)
    line = line_of(made)
    assert len(json.dumps(line)) < 150_000
    assert all(len(value) < 17_000 for value in line.values() if isinstance(value, str))


@given(st.lists(st.one_of(HOSTILE, st.integers(), st.floats(), st.none(), st.just(TopicPartition("a", 1))), max_size=4))
def test_line_is_valid_when_its_values_do_not_fit_its_text(values: list[object]) -> None:
    line = line_of(record("%s: rolled to a new segment at offset %d", *values, logger="pybroker.storage.log.log"))
    assert line["event"] == "log.rolled"
    assert line["msg"]


def test_partition_gives_the_fields_topic_and_partition() -> None:
    partition = TopicPartition("orders", 3)
    rolled = record("%s: rolled to a new segment at offset %d", partition, 1200, logger="pybroker.storage.log.log")
    line = line_of(rolled)
    assert {name: line[name] for name in line if name not in FIRST} == {
        "topic": "orders",
        "partition": 3,
        "offset": 1200,
    }


def test_error_is_a_field_and_its_traceback_is_one_string() -> None:
    try:
        raise ValueError("bad\nnews")
    except ValueError:
        made = record("failed", extra={"exc_info": sys.exc_info()})
    line = line_of(made)
    assert line["error"] == "ValueError: bad\nnews"
    assert line["traceback"].startswith("Traceback (most recent call last):\n")
    assert line["traceback"].endswith("ValueError: bad\nnews")


def test_fields_have_a_maximum_length() -> None:
    line = line_of(
        record(
            "group %s removed in generation %d",
            "g" * 5000,
            1,
            logger="pybroker.broker.coordinator.group.administration",
        )
    )
    assert len(line["group"]) < LONGEST_FIELD + 40
    assert len(line["msg"]) <= 5100


def test_lines_of_other_packages_and_of_level_debug_have_no_event() -> None:
    assert "event" not in line_of(record("stopped", logger="kazoo.client"))
    assert "event" not in line_of(
        record("compacting in process %d", 5, logger="pybroker.storage.compaction.cleaner_child")
    )
    assert "event" not in line_of(record("%s", "x", extra=marked("no.such-event")))


def test_lines_that_were_left_out_are_a_field() -> None:
    gate = LogRateLimit(burst=1, period_s=10)
    for _ in range(3):
        gate.filter(record("joined"))
    after = record("joined")
    after.created = 20
    gate.filter(after)
    assert line_of(after)["left_out"] == 2
    assert line_of(after)["msg"] == "joined"


@given(st.floats(0, 4e9))
def test_time_is_rfc_3339_in_utc_with_milliseconds(seconds: float) -> None:
    text = time_text(seconds)
    assert len(text) == len("2026-11-27T03:30:46.123Z")
    assert text.endswith("Z")


def lines_of(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


def test_broker_logs_json_lines_only(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path, {}, (sys.executable, "-m", "pybroker", "--log-format", "json"))
    with broker:
        pass
    events = [line.get("event") for line in lines_of(broker.output)]
    assert events[0] == "process.starting"
    assert {"process.ready", "process.stopping", "log.all-loaded"} <= set(events)
    assert events[-1] == "process.stopped"
    assert None not in events


def pybroker(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pybroker", "--override", "num.partitions=many", *arguments]
    environment = {**os.environ, "PYBROKER_LOG_FORMAT": "json"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_log_format_is_taken_from_the_environment_and_holds_for_failed_starts() -> None:
    done = pybroker()
    (line,) = lines_of(done.stderr)
    assert done.returncode == 2
    assert (line["level"], line["event"]) == ("CRITICAL", "process.not-started")
    assert "num.partitions=many" in line["error"]
    assert pybroker("--log-format", "TEXT").stderr.startswith("pybroker: num.partitions=many")


@pytest.mark.parametrize("arguments", [["--log-format", "xml"], []])
def test_unknown_log_format_is_refused(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYBROKER_LOG_FORMAT", "xml")
    assert main(arguments) == 2
    assert "xml must be one of text, json" in capsys.readouterr().err.replace(": must", " must")
