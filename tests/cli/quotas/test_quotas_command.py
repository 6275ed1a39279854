"""`pybroker quotas` against a broker in this process."""

from collections.abc import Iterator

import pytest
from pybroker import Broker
from pybroker.cli.quotas.shapes import Quota
from support.clients.commands import checked_json, run


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with Broker() as broker:
        yield broker.bootstrap_servers


def test_quotas_are_set_listed_and_removed(servers: str) -> None:
    entity = ["--user", "alice", "--client-default"]
    assert run(servers, "quotas", "set", *entity, "--produce", "2MiB", "--request", "50").code == 0
    shown = run(servers, "quotas", "list", "--user", "alice")
    assert shown.out == (
        "USER   CLIENT ID  IP  QUOTA               VALUE\n"
        "alice  <default>  -   producer_byte_rate  2.0 MiB/s\n"
        "alice  <default>  -   request_percentage  50 %\n"
    )
    assert run(servers, "quotas", "unset", *entity, "--request").code == 0
    (left,) = checked_json(servers, Quota, "quotas", "list", *entity)
    assert (left["quota"], left["value"]) == ("producer_byte_rate", 2 * 1024 * 1024)
    assert run(servers, "quotas", "unset", *entity).code == 0
    assert checked_json(servers, Quota, "quotas", "list") == []


def test_removing_leaves_the_quotas_of_larger_entities_alone(servers: str) -> None:
    run(servers, "quotas", "set", "--user", "bob", "--produce", "1MB")
    run(servers, "quotas", "set", "--user", "bob", "--client", "c", "--produce", "2MB")
    run(servers, "quotas", "unset", "--user", "bob")
    (left,) = checked_json(servers, Quota, "quotas", "list", "--user", "bob")
    assert (left["client_id"], left["value"]) == ("c", 2_000_000)
    run(servers, "quotas", "unset", "--user", "bob", "--client", "c")


def test_dry_run_sets_nothing(servers: str) -> None:
    assert run(servers, "quotas", "set", "--ip", "10.0.0.1", "--connections", "5", "--dry-run").code == 0
    assert run(servers, "quotas", "list", "--ip", "10.0.0.1").out == ""


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["set", "--user", "a"], 2, "nothing to set"),
        (["set", "--produce", "1"], 2, "whose quota"),
        (["set", "--user", "a", "--produce", "much"], 2, "number of bytes"),
        (["set", "--user", "a", "--request", "-1"], 2, "at least 0"),
        (["set", "--user", "a", "--ip", "10.0.0.1", "--connections", "1"], 2, "--ip goes with neither"),
        (["unset", "--user", "nobody"], 3, "no such quota"),
    ],
)
def test_refusals_are_one_line_with_an_exit_code(servers: str, arguments: list[str], code: int, words: str) -> None:
    ran = run(servers, "quotas", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)
    assert words in ran.err
