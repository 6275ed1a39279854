"""`pybroker txns` against a broker in this process, with transactions that are open and that hang."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from pybroker import Broker
from pybroker.cli.txns.shapes import Abortion, HangingTransaction, Transaction, TransactionDescription
from support.clients.commands import checked_json, run
from support.transactions.hanging_transaction import HANGING_ID, UNVERIFIED, begin_hanging_transaction


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with Broker(UNVERIFIED) as broker:
        run(broker.bootstrap_servers, "topics", "create", "orders", "-p", "2", "--wait")
        yield broker.bootstrap_servers


@pytest.fixture(scope="module")
def open_transaction(servers: str) -> Iterator[str]:
    """The id of a transaction with a record in partition 0, which its coordinator knows."""
    producer = Producer({"bootstrap.servers": servers, "transactional.id": "billing"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce("orders", b"value", partition=0)
    producer.flush()
    yield "billing"
    producer.abort_transaction()


def test_open_transaction_is_listed_described_and_does_not_hang(servers: str, open_transaction: str) -> None:
    listed = checked_json(servers, Transaction, "txns", "list", "--state", "Ongoing")
    assert [each["transactional_id"] for each in listed] == [open_transaction]
    (described,) = checked_json(servers, TransactionDescription, "txns", "describe", open_transaction)
    assert (described["state"], described["partitions"]) == ("Ongoing", ["orders:0"])
    assert run(servers, "txns", "hanging", "orders:0", "--older-than", "0s").code == 0
    refused = run(servers, "txns", "abort", "orders:0", "--start-offset", "0", "-y")
    assert refused.code == 2
    assert "does not hang" in refused.err


def test_hanging_transaction_is_found_and_aborted(servers: str) -> None:
    begin_hanging_transaction(servers, "orders", 1)
    assert run(servers, "txns", "hanging", "orders:1").code == 0  # it is too young
    found = run(servers, "txns", "hanging", "orders:1", "--older-than", "0s")
    assert found.code == 10
    assert found.out.splitlines()[1].split()[:5] == ["orders", "1", "0", str(HANGING_ID), "3"]
    abort = ["txns", "abort", "orders:1", "--start-offset", "0"]
    assert run(servers, *abort).code == 2  # no terminal to ask on
    (planned,) = checked_json(servers, Abortion, *abort, "--dry-run")
    assert planned["producer_id"] == HANGING_ID
    assert run(servers, "txns", "hanging", "--older-than", "0s", "-o", "name").out == "orders:1\n"
    assert run(servers, *abort, "-y").code == 0
    assert checked_json(servers, HangingTransaction, "txns", "hanging", "orders:1", "--older-than", "0s") == []
    assert run(servers, *abort, "-y").code == 3


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["describe", "missing"], 3, "missing"),
        (["list", "--state", "Nope"], 1, "no state Nope"),
        (["hanging", "--older-than", "soon"], 2, "such as 30s"),
        (["abort", "orders", "--start-offset", "0"], 2, "one partition"),
    ],
)
def test_refusals_are_one_line_with_an_exit_code(servers: str, arguments: list[str], code: int, words: str) -> None:
    ran = run(servers, "txns", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)
    assert words in ran.err
