"""`pybroker configs` against a broker in this process."""

from collections.abc import Iterator

import pytest
from pybroker import Broker
from pybroker.cli.configs.shapes import Setting, SettingChange, SettingDifference
from support.clients.commands import checked_json, run


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with Broker({"broker.id": "3"}) as broker:
        yield broker.bootstrap_servers


def test_settings_of_a_topic_are_set_shown_and_reset(servers: str) -> None:
    run(servers, "topics", "create", "orders")
    (change,) = checked_json(servers, SettingChange, "configs", "set", "topic/orders", "retention.ms=1000")
    assert (change["old_value"], change["new_value"]) == ("604800000", "1000")
    shown = run(servers, "configs", "get", "topic/orders", "--non-default")
    assert shown.out == ("RESOURCE      SETTING       VALUE  SOURCE\ntopic/orders  retention.ms  1000   topic\n")
    assert run(servers, "configs", "unset", "topic/orders", "retention.ms").code == 0
    assert run(servers, "configs", "get", "topic/orders", "--non-default").out == ""


def test_default_of_all_brokers_is_not_a_setting_of_one_broker(servers: str) -> None:
    run(servers, "configs", "set", "brokers", "log.cleaner.threads=2")
    (of_all,) = checked_json(servers, Setting, "configs", "get", "brokers")
    assert (of_all["source"], of_all["is_default"]) == ("all brokers", False)
    (of_one,) = checked_json(servers, Setting, "configs", "get", "broker/3", "-n", "log.cleaner.threads", "--with-docs")
    assert (of_one["value"], of_one["is_default"]) == ("2", True)
    assert of_one["documentation"]
    run(servers, "configs", "unset", "brokers", "log.cleaner.threads")


def test_dry_run_changes_nothing_and_finds_what_is_wrong(servers: str) -> None:
    run(servers, "topics", "create", "dry")
    assert run(servers, "configs", "set", "topic/dry", "retention.ms=1", "--dry-run").code == 0
    assert run(servers, "configs", "set", "topic/dry", "retention.ms=x", "--dry-run").code == 1
    assert run(servers, "configs", "get", "topic/dry", "--non-default").out == ""


def test_diff_shows_the_settings_that_differ_in_two_resources_or_clusters(servers: str) -> None:
    run(servers, "topics", "create", "one", "-c", "retention.ms=1000")
    run(servers, "topics", "create", "two")
    expected = [{"name": "retention.ms", "first": "1000", "second": "604800000"}]
    assert checked_json(servers, SettingDifference, "configs", "diff", "topic/one", "topic/two") == expected
    with Broker() as other:
        address = other.bootstrap_servers
        run(address, "topics", "create", "one")
        assert (
            checked_json(servers, SettingDifference, "configs", "diff", "topic/one", "--against", address) == expected
        )


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["get", "toic/a"], 2, "did you mean topic"),
        (["get", "broker/x"], 2, "must be a number"),
        (["get", "topic/missing"], 3, "missing"),
        (["get", "broker/9"], 1, "not alive"),
        (["get", "broker/3", "-n", "nonsense"], 3, "no setting matches"),
        (["set", "topic/a", "retention.ms"], 2, "NAME=VALUE"),
        (["diff", "topic/a", "broker/3"], 2, "different settings"),
        (["diff", "topic/a"], 2, "--against"),
    ],
)
def test_refusals_are_one_line_with_an_exit_code(servers: str, arguments: list[str], code: int, words: str) -> None:
    ran = run(servers, "configs", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)
    assert words in ran.err
