"""Source, sink, archive and mirror at Apache Kafka 3.9.1, on Spark 4.0 and on the installed Spark."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.clients.produced import KEEPS_OLD_RECORDS, numbered, produce
from support.clients.topics import create_topic
from support.processes.started_broker import Broker, started_broker
from support.spark.plain_rows import PlainRow, text
from support.spark.spark_session import session_on

pytestmark = [
    pytest.mark.long,
    pytest.mark.usefixtures("spark"),  # which skips the tests without Spark
    pytest.mark.parametrize("on_oldest_spark", [True, False], ids=["Spark 4.0", "installed Spark"]),
]

ROWS = 600
COMMITTED = {"kafka_isolation_level": "read_committed"}


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with started_broker(tmp_path_factory.mktemp("kafka"), KEEPS_OLD_RECORDS, against_kafka=True) as broker:
        yield broker


def contents(rows: list[PlainRow]) -> list[tuple[str, str]]:
    return sorted((row.key or "", row.value or "") for row in rows)


def test_source_sink_archive_and_mirror_count_every_record_of_kafka(
    kafka: Broker, topic: str, tmp_path: Path, on_oldest_spark: bool
) -> None:
    servers = kafka.bootstrap_servers
    names = [topic, f"{topic}-written", f"{topic}-streamed", f"{topic}-committed", f"of.{topic}"]
    for name in names:
        create_topic(servers, name, 2)
    records = produce(servers, numbered(topic, [0, 1], ROWS))
    expected = sorted((text(record.key) or "", text(record.value) or "") for record in records)
    reads = {"subscribe": topic, "startingOffsets": "earliest"}
    sink = {"kafka.transactional.id": topic}
    table, archive = tmp_path / "table", tmp_path / "archive"
    with session_on(on_oldest_spark, servers, tmp_path / "session") as spark:
        assert contents(spark.read(subscribe=topic).rows) == expected
        spark.write(records, topic=f"{topic}-written")
        assert spark.load(table, tmp_path / "loaded", **reads) == [ROWS]
        assert spark.copy(f"{topic}-streamed", tmp_path / "streamed", **reads) == [ROWS]
        assert spark.copy_into(f"{topic}-committed", tmp_path / "committed", sink, **reads) == [ROWS]
        of_jobs = ("--topics", topic, "--available-now", "--max-records", "400")
        mirror = ("mirror", "--source", servers, "--target", servers, "--prefix", "of.", *of_jobs)
        assert spark.run(*mirror, "--checkpoint", tmp_path / "mirrored") == 0
        assert spark.run("archive", "--bootstrap-servers", servers, "--to", archive, *of_jobs) == 0
        assert spark.run("check-archive", archive) == 0
        for path in (table, archive / "data"):
            assert contents(spark.table(path)) == expected
        for name in names:
            assert contents(spark.read(subscribe=name, **COMMITTED).rows) == expected, name
