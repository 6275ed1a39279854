"""Records how Apache Kafka 3.9.1 coordinates transactions. scripts/record-transactions runs it in the project's
environment.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from interop.side_by_side.conversation import Conversation  # noqa: E402 - needs the path above
from interop.side_by_side.requests import produce  # noqa: E402
from interop.side_by_side.transaction_codes import code_rows, exhaustion_rows  # noqa: E402
from interop.side_by_side.transaction_stage import (  # noqa: E402
    ADDED,
    DATA,
    OTHER,
    PARTITIONS,
    SETTINGS,
    SITUATIONS,
    STUCK,
    TIMEOUT_MS,
    Stage,
    add_partitions,
    init_producer_id,
)
from pybroker.base.coordinator_partition import partition_for_key  # noqa: E402
from pybroker.base.kafka_names import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC  # noqa: E402
from pybroker.base.topic_partition import TopicPartition  # noqa: E402
from pybroker.broker.coordinator.transaction.picture import (  # noqa: E402
    MAX_PRODUCER_EPOCH,
    ProducerIdentity,
    TransactionPicture,
)
from pybroker.broker.coordinator.transaction.records import encode_key, encode_value  # noqa: E402
from pybroker.broker.coordinator.transaction.states import TransactionState  # noqa: E402
from pybroker.protocol.errors import ErrorCode  # noqa: E402
from pybroker.protocol.messages import add_partitions_to_txn as ap  # noqa: E402
from pybroker.protocol.messages.list_transactions import ListTransactionsRequest  # noqa: E402
from pybroker.protocol.records.builder import build_batch  # noqa: E402
from pybroker.protocol.records.record import Record  # noqa: E402
from support.processes.java import java_command  # noqa: E402
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess  # noqa: E402
from support.processes.silent_member import SILENT_ID, silent_member  # noqa: E402
from support.time.patience import await_that  # noqa: E402

EXPIRING = {
    "transactional.id.expiration.ms": "5000",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "100",
}
MANY = "codes-many"
EXHAUSTED, EXHAUSTED_ONGOING = "exhausted", "exhausted while ongoing"
FIRST_ID = 900_000
"""Kafka does not reach this producer id."""
DUMPED = (".index", ".log", ".timeindex", ".txnindex", ".snapshot")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="record-transactions", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "tests" / "reference" / "transactions")
    folder = parser.parse_args(arguments).folder
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        zookeeper = ZooKeeperProcess(Path(work) / "zookeeper", {"maxSessionTimeout": "3600000"}).start()
        try:
            codes = record_codes(Path(work) / "codes", zookeeper)
            (folder / "codes.txt").write_text("".join(f"{row}\n" for row in codes), encoding="utf-8")
            record_log_directory(Path(work) / "log", zookeeper, folder)
        finally:
            zookeeper.kill()
    return 0


@contextmanager
def started(directory: Path, zookeeper: ZooKeeperProcess, settings: Mapping[str, str]) -> Iterator[KafkaProcess]:
    """A broker on the directory, with a tree in ZooKeeper of the same name. It is stopped cleanly at the end."""
    tree = {"zookeeper.connect": f"{zookeeper.connect}/{directory.name}"}
    broker = KafkaProcess(directory, zookeeper, {**SETTINGS, **settings, **tree}).start()
    try:
        yield broker
        broker.stop()
    finally:
        broker.kill()


def record_codes(directory: Path, zookeeper: ZooKeeperProcess) -> list[str]:
    """The lines of codes.txt."""
    with (
        started(directory, zookeeper, {}) as broker,
        silent_member(f"{zookeeper.connect}/{directory.name}"),
        Stage.with_silent_broker(broker.bootstrap_servers) as stage,
    ):
        rows = [row for situation in SITUATIONS.values() for row in code_rows(stage, situation)]
        return [*rows, *exhaustion_rows(stage)]


def record_log_directory(directory: Path, zookeeper: ZooKeeperProcess, folder: Path) -> None:
    """Write the log directory, its dumps and the descriptions of the transactional ids."""
    with started(directory, zookeeper, EXPIRING) as broker, Stage(broker.bootstrap_servers, prefix="old") as stage:
        alone = {index: [0] for index in range(PARTITIONS)}
        topics = {DATA: {ADDED: [0], OTHER: [0]}, CONSUMER_OFFSETS_TOPIC: alone, TRANSACTION_STATE_TOPIC: alone}
        stage.create_topics(topics, brokers=[0])
        stage.await_coordinators()
        expired = [each.transactional_id for each in (stage.empty(), stage.resumed(), stage.ended(committed=True))]
        for name in expired:
            await_that(lambda: is_forgotten(stage, name), f"{name} is forgotten")  # noqa: B023
        add_exhausted_producers(broker.port)
    with (
        started(directory, zookeeper, {}) as broker,
        silent_member(f"{zookeeper.connect}/{directory.name}"),
        Stage(broker.bootstrap_servers) as stage,
    ):
        stage.create_topics({STUCK: {ADDED: [SILENT_ID]}, MANY: {index: [0] for index in range(4)}}, [0, SILENT_ID])
        stage.await_coordinators()
        bring_into_every_state(stage, expired[0])
        descriptions = [described(stage, name) for name in listed(stage)]
    write_folder(directory / "data", folder, descriptions)


def is_forgotten(stage: Stage, name: str) -> bool:
    code: int = stage.describe(name).error_code
    return code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


def add_exhausted_producers(port: int) -> None:
    """Append ids whose producers have the last epoch. Kafka loads them at its next start.

    It accepts records for internal topics from the client id of its own admin client.
    """
    for state in (TransactionState.EMPTY, TransactionState.ONGOING):
        ongoing = state is TransactionState.ONGOING
        name = EXHAUSTED_ONGOING if ongoing else EXHAUSTED
        partitions = frozenset({TopicPartition(DATA, ADDED)} if ongoing else ())
        now_ms = int(time.time() * 1000)
        producer = ProducerIdentity(FIRST_ID + ongoing, MAX_PRODUCER_EPOCH)
        picture = TransactionPicture(state, producer, TIMEOUT_MS, partitions, now_ms if ongoing else -1, now_ms)
        batch = build_batch([Record(0, now_ms, encode_key(name), encode_value(picture, 0))])
        request = produce(TRANSACTION_STATE_TOPIC, batch, partition=partition_for_key(name, PARTITIONS))
        talk = Conversation(("127.0.0.1", port), "exhausted")
        answer = talk.ask(request, 9, client_id="__admin_client")
        assert not answer.responses[0].partition_responses[0].error_code, answer
        talk.close()


def bring_into_every_state(stage: Stage, expired: str) -> None:
    stage.initialize(expired)
    stage.make_timed_out(1)
    for situation in SITUATIONS.values():
        if not situation.name.endswith(("pending", "timed out")):
            situation.build(stage)
    subject = stage.ongoing()
    places = [ap.AddPartitionsToTxnTopic(name=MANY, partitions=list(range(4)))]
    places += [ap.AddPartitionsToTxnTopic(name=STUCK, partitions=[ADDED])]
    request = add_partitions(subject)
    request.v3_and_below_topics = places
    assert not stage.client.ask(request, 3).error_code
    stage.initialize(EXHAUSTED)
    fence = init_producer_id(EXHAUSTED_ONGOING)
    assert stage.client.ask(fence, 4).error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    await_that(lambda: stage.describe(EXHAUSTED_ONGOING).transaction_state == "CompleteAbort", "the abort")


def listed(stage: Stage) -> list[str]:
    found = stage.client.ask(ListTransactionsRequest(), 0)
    return sorted(each.transactional_id for each in found.transaction_states)


def described(stage: Stage, name: str) -> dict[str, Any]:
    found = stage.describe(name)
    return {
        "transactionalId": name,
        "state": found.transaction_state,
        "producerId": found.producer_id,
        "producerEpoch": found.producer_epoch,
        "timeoutMs": found.transaction_timeout_ms,
        "startMs": found.transaction_start_time_ms,
        "partitions": sorted(f"{each.topic}-{partition}" for each in found.topics for partition in each.partitions),
    }


def write_folder(data: Path, folder: Path, descriptions: list[dict[str, Any]]) -> None:
    for old in (*folder.glob("*.dump.txt"), folder / "states.jsonl"):
        old.unlink(missing_ok=True)
    shutil.rmtree(folder / "data", ignore_errors=True)
    shutil.copytree(data, folder / "data", ignore=shutil.ignore_patterns(".lock"))
    (folder / "states.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in descriptions))
    for directory in sorted({path.parent for path in (folder / "data").glob("*/*.log") if path.stat().st_size}):
        (folder / f"{directory.name}.dump.txt").write_text(dump(directory), encoding="utf-8")


def dump(directory: Path) -> str:
    """The text of Kafka's tool for the files of a partition."""
    options = ["--deep-iteration"]
    if directory.name.startswith(TRANSACTION_STATE_TOPIC):
        options = ["--transaction-log-decoder"]
    elif directory.name.startswith(CONSUMER_OFFSETS_TOPIC):
        options = ["--offsets-decoder"]
    files = sorted(f"{directory.name}/{path.name}" for path in directory.iterdir() if path.suffix in DUMPED)
    command = java_command("kafka.tools.DumpLogSegments", *options, "--files", ",".join(files))
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=directory.parent)
    return done.stdout


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
