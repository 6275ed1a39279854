"""The cost of the start and the end of a test's broker, as counts that a busy machine does not change."""

import os
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pybroker.controller.tree.embedded_database import EmbeddedDatabase
from pybroker.testkit.kafka_broker import KafkaBroker


@pytest.fixture
def costs(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts calls by their name."""
    found: Counter[str] = Counter()

    def count(owner: Any, name: str) -> None:
        original: Callable[..., Any] = getattr(owner, name)

        def counting(*arguments: Any, **named: Any) -> Any:
            found[name] += 1
            return original(*arguments, **named)

        monkeypatch.setattr(owner, name, counting)

    for name in ("fsync", "fdatasync", "unlink", "replace"):
        count(os, name)
    count(threading.Thread, "start")
    count(EmbeddedDatabase, "_write")
    return found


def test_start_and_end_wait_for_no_disk_and_start_few_threads(costs: Counter[str]) -> None:
    broker = KafkaBroker({})
    assert costs["fsync"] + costs["fdatasync"] + costs["_write"] == 0
    assert costs["start"] == 1  # the loop
    assert costs["unlink"] <= 3
    broker.append("t", b"x")
    written = costs["replace"]
    broker.close()
    assert costs["replace"] == written  # no checkpoint of data that is removed
    assert costs["fsync"] + costs["fdatasync"] == 0
    assert costs["_write"] == 0  # of the metadata store


def test_broker_whose_data_stays_is_stopped_cleanly(tmp_path: Path) -> None:
    broker = KafkaBroker({"log.dirs": tmp_path})
    broker.append("t", b"x")
    broker.close()
    assert (tmp_path / ".kafka_cleanshutdown").exists()
