"""Settings that change while the broker runs: their values, the notified listeners, and the log lines."""

import logging
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import Any

import pytest
from pybroker.broker.settings.dynamic_config import DynamicConfig
from pybroker.config.authorization import ACL_AUTHORIZER
from pybroker.config.config import Config
from pybroker.config.config_error import ConfigError
from pybroker.config.dynamic_layers import DynamicLayers
from pybroker.config.load import load_config
from support.security.sasl_broker import SASL_SETTINGS


class Part:
    """A listener that records the settings it received."""

    def __init__(self, name: str = "num.io.threads") -> None:
        self.name = name
        self.told: list[object] = []

    def __call__(self, config: Config) -> None:
        self.told.append(config.value(self.name))


async def at_once(work: Callable[[], Any]) -> Any:
    return work()


run_in_pool: Callable[[Callable[[], Any]], Awaitable[Any]] = at_once


def started(text: str = "") -> DynamicConfig:
    return DynamicConfig(load_config(text))


async def test_listeners_are_called_when_their_settings_change() -> None:
    dynamic = started("num.io.threads=4")
    threads, limits, all_of_them = Part(), Part("max.connections"), Part()
    dynamic.when_changed(["num.io.threads"], threads)
    dynamic.when_changed(["max.connections"], limits)
    dynamic.when_changed(None, all_of_them)
    await dynamic.take({"num.io.threads": "5"}, per_broker=False)
    await dynamic.take({"num.io.threads": "6"}, per_broker=True)
    await dynamic.take({"num.io.threads": "6"}, per_broker=False)
    assert threads.told == all_of_them.told == [5, 6]
    assert limits.told == []
    await dynamic.take({"listener.name.plaintext.max.connections": "9"}, per_broker=False)
    assert len(limits.told) == 1
    await dynamic.take({}, per_broker=True)
    await dynamic.take({}, per_broker=False)
    assert dynamic.config.int("num.io.threads") == 4


async def test_next_listener_waits_for_a_slow_listener() -> None:
    dynamic = started()
    told: list[int] = []

    async def slow(config: Config) -> None:
        told.append(config.int("num.io.threads"))

    dynamic.when_changed(["num.io.threads"], slow)
    dynamic.when_changed(["num.io.threads"], lambda config: told.append(-config.int("num.io.threads")))
    await dynamic.take({"num.io.threads": "9"}, per_broker=True)
    assert told == [9, -9]


async def test_failing_listener_does_not_stop_the_others(caplog: pytest.LogCaptureFixture) -> None:
    dynamic, threads = started(), Part()

    def refuse(_config: Config) -> None:
        raise ConfigError("no")

    dynamic.when_changed(["num.io.threads"], refuse)
    dynamic.when_changed(["num.io.threads"], threads)
    await dynamic.take({"num.io.threads": "9"}, per_broker=True)
    assert threads.told == [9]
    assert "a changed setting cannot be applied: no" in caplog.text


@pytest.mark.parametrize(
    "stored",
    [{"num.io.threads": "200"}, {"max.connections.per.ip": "0"}, {"listener.name.x.ssl.provider": "x"}],
    ids=str,
)
async def test_impossible_dynamic_settings_leave_the_former_ones_in_force(
    stored: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    dynamic, threads = started("num.io.threads=4"), Part()
    dynamic.when_changed(None, threads)
    await dynamic.take({"num.io.threads": "5"}, per_broker=True)
    await dynamic.take({"num.io.threads": "6", **stored}, per_broker=True)
    assert dynamic.config.int("num.io.threads") == 5
    assert threads.told == [5]
    assert "the former ones stay in force" in caplog.text
    await dynamic.take({"num.io.threads": "7"}, per_broker=True)
    assert dynamic.config.int("num.io.threads") == 7


async def test_invalid_stored_settings_are_skipped(caplog: pytest.LogCaptureFixture) -> None:
    dynamic = started()
    await dynamic.take({"num.io.threads": "many", "num.partitions": "5", "message.max.bytes": "7"}, per_broker=True)
    assert (dynamic.config.int("num.io.threads"), dynamic.config.int("num.partitions")) == (8, 1)
    assert dynamic.config.int("message.max.bytes") == 7
    assert len([record for record in caplog.records if record.levelno == logging.ERROR]) == 2


def test_start_applies_a_stored_number_of_threads_without_the_limit_for_changes() -> None:
    dynamic = started("num.io.threads=1")
    config = dynamic.load(DynamicLayers({"num.io.threads": "64", "num.partitions": "9"}, {"message.max.bytes": "7"}))
    assert config is dynamic.config
    assert [config.int(name) for name in ("num.io.threads", "num.partitions", "message.max.bytes")] == [64, 1, 7]
    with pytest.raises(ConfigError, match=r"max\.connections\.per\.ip=0"):
        dynamic.load(DynamicLayers({"max.connections.per.ip": "0"}))


def test_change_is_checked_against_all_settings_in_force() -> None:
    dynamic = started("num.io.threads=4")
    dynamic.load(DynamicLayers({"log.cleaner.max.compaction.lag.ms": "100"}))
    for bad in ({"log.cleaner.min.compaction.lag.ms": "101"}, {"num.io.threads": "9"}, {"num.partitions": "2"}):
        with pytest.raises(ConfigError, match=next(iter(bad))):
            dynamic.check(bad, per_broker=True)
    dynamic.check({"log.cleaner.min.compaction.lag.ms": "101"}, per_broker=False)
    dynamic.check({"log.cleaner.min.compaction.lag.ms": "100", "num.io.threads": "8"}, per_broker=True)
    assert dynamic.config.int("num.io.threads") == 4


async def test_each_change_is_one_line_and_secrets_stay_out_of_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    dynamic = started()
    await dynamic.take({"num.io.threads": "9", "plugin.secret": "hunter2", "num.network.threads": "4"}, per_broker=True)
    await dynamic.take({"listener.name.x.max.connections": "4"}, per_broker=True)
    await dynamic.take({"leader.replication.throttled.rate": "7"}, per_broker=True)
    await dynamic.take({}, per_broker=True)
    assert "hunter2" not in caplog.text
    lines = [record.getMessage() for record in caplog.records]
    assert [line for line in lines if "plugin.secret" in line] == [
        "plugin.secret (set for this broker while running) is ignored: there is no such setting",
        "plugin.secret is not set any more",
    ]
    assert "num.io.threads is 9 now (set for this broker while running)" in lines
    assert "num.io.threads is not set any more: 8" in lines
    assert "listener.name.x.max.connections is not set any more" in lines
    assert "leader.replication.throttled.rate is 7 now (set for this broker while running)" in lines
    assert len([line for line in lines if line.startswith("num.network.threads (") and "no effect" in line]) == 1


async def test_reload_takes_only_reloadable_settings_from_the_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.io.threads=1\nnum.partitions=1\nmessage.max.bytes=5\nlog.segment.bytes=1000")
    dynamic, threads = DynamicConfig(load_config(file)), Part()
    dynamic.when_changed(["num.io.threads"], threads)
    await dynamic.take({"log.segment.bytes": "3000"}, per_broker=True)
    file.write_text("num.io.threads=64\nnum.partitions=2\nlog.segment.bytes=2000")
    await dynamic.reload(run_in_pool)
    config = dynamic.config
    assert threads.told == [64], "the file may change them as it likes"
    assert [config.int(name) for name in ("num.partitions", "message.max.bytes", "log.segment.bytes")] == [
        1,
        1048588,
        3000,
    ]
    assert "num.partitions has changed in the file; this needs a restart" in caplog.text
    await dynamic.take({}, per_broker=True)
    assert dynamic.config.int("log.segment.bytes") == 2000


async def test_reload_leaves_the_logins_and_super_users_of_a_running_broker(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    jaas = "listener.name.sasl_plaintext.plain.sasl.jaas.config"
    lines = [*(f"{name}={text}" for name, text in SASL_SETTINGS.items()), f"authorizer.class.name={ACL_AUTHORIZER}"]
    file = tmp_path / "server.properties"
    file.write_text("\n".join([*lines, "super.users=User:alice"]))
    dynamic = DynamicConfig(load_config(file))
    file.write_text("\n".join([*lines, "super.users=User:bob"]).replace("user_alice=", "user_carol="))
    caplog.clear()
    await dynamic.reload(run_in_pool)
    assert [record.getMessage() for record in caplog.records[1:]] == [
        f"{jaas} has changed in the file; this needs a restart",
        "super.users has changed in the file; this needs a restart",
    ]
    assert "user_alice" in dynamic.config.given[jaas].text
    assert dynamic.config.given["super.users"].text == "User:alice"


async def test_reload_does_not_log_ignored_settings_as_in_force(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    file = tmp_path / "server.properties"
    file.write_text("")
    dynamic = DynamicConfig(load_config(file, {"num.partitions": "3"}, place="given by the test"))
    file.write_text("num.partition=2\nleader.replication.throttled.rate=5\nlog.segment.bytes=2000")
    caplog.clear()
    await dynamic.reload(run_in_pool)
    assert [record.getMessage() for record in caplog.records[1:]] == [
        "log.segment.bytes is 2000 now (server.properties line 3)",
        "num.partition (server.properties line 1) is ignored: there is no such setting; did you mean num.partitions?",
        "leader.replication.throttled.rate (server.properties line 2) is ignored: it can only be set while the broker "
        "runs, by kafka-configs",
    ]
    assert dynamic.config.given["num.partitions"].place == "given by the test"


@pytest.mark.parametrize("text", ["num.io.threads=many", "num.io.threads=5\nmax.connections.per.ip=0", "a=\\u12"])
async def test_reload_ignores_an_invalid_settings_file(
    text: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.io.threads=4")
    dynamic = DynamicConfig(load_config(file))
    file.write_text(text)
    await dynamic.reload(run_in_pool)
    assert dynamic.config.int("num.io.threads") == 4
    assert "is invalid, the former settings stay in force" in caplog.text
    file.unlink()
    await dynamic.reload(run_in_pool)
    assert dynamic.config.int("num.io.threads") == 4


async def test_reload_without_a_settings_file_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    dynamic = started("num.io.threads=4")
    before = dynamic.config
    await dynamic.reload(run_in_pool)
    assert dynamic.config is before
    assert "no settings file" in caplog.text


async def test_unknown_dynamic_settings_are_logged_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    dynamic = started()
    caplog.set_level(logging.INFO)
    await dynamic.take({f"num.io.threats.{number}": "5" for number in range(7)}, per_broker=True)
    (line,) = caplog.messages
    assert line == (
        "num.io.threats.0, num.io.threats.1, num.io.threats.2, num.io.threats.3, num.io.threats.4 and 2 more were set"
        " while running, and are ignored: there are no such settings"
    )
    assert not dynamic.config.is_given("num.io.threads")


async def test_last_of_very_many_changes_are_logged_as_a_count(caplog: pytest.LogCaptureFixture) -> None:
    dynamic = started()
    caplog.set_level(logging.INFO)
    many = {f"listener.name.x{number}.max.connections": "5" for number in range(60)}
    await dynamic.take(many, per_broker=True)
    assert caplog.messages[-1] == "10 more settings have changed"
    caplog.clear()
    await dynamic.take({f"stranger.{number}": "5" for number in range(60)}, per_broker=True)
    caplog.clear()
    await dynamic.take({}, per_broker=True)
    assert len([line for line in caplog.messages if "is not set any more" in line]) == 50
    assert caplog.messages[-1] == "10 more settings have changed"


async def test_part_that_reads_files_is_told_of_a_change_to_the_same_value() -> None:
    dynamic, files = started("num.io.threads=4"), Part()
    dynamic.when_read(files, lambda _config, _names: None)
    await dynamic.take({"num.io.threads": "5"}, per_broker=True)
    await dynamic.take({"num.io.threads": "5"}, per_broker=True)
    assert files.told == [5, 5]


async def test_part_that_reads_files_may_refuse_a_change_before_it_is_written() -> None:
    def refuse(config: Config, _names: Collection[str]) -> None:
        if config.int("num.io.threads") == 6:
            raise ConfigError("no such file")

    dynamic = started("num.io.threads=4")
    dynamic.when_read(Part(), refuse)
    dynamic.check({"num.io.threads": "5"}, per_broker=True)
    with pytest.raises(ConfigError, match="no such file"):
        dynamic.check({"num.io.threads": "6"}, per_broker=True)


def test_check_is_told_which_settings_change_and_which_are_set_to_the_same_value() -> None:
    told: list[set[str]] = []
    dynamic = started("num.io.threads=4")
    dynamic.when_read(Part(), lambda _config, names: told.append(set(names)))
    dynamic.check({"num.io.threads": "5", "message.max.bytes": "7"}, per_broker=True)
    dynamic.check({"num.io.threads": "4"}, per_broker=True)
    dynamic.check({"num.io.threads": "4"}, per_broker=True, named=["num.io.threads"])
    assert told == [{"num.io.threads", "message.max.bytes"}, set(), {"num.io.threads"}]
