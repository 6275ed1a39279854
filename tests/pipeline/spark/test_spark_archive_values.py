"""Tests of the job `archive` with decoded values on real Spark."""

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pybroker.pipeline.jobs.command import BAD_INPUT, FAILED
from support.clients.produced import START_MS, Produced, produce
from support.clients.topics import create_topic
from support.spark.archiving import Archiving
from support.spark.fake_registry import fake_registry
from support.spark.pipeline_commands import run_command
from support.spark.spark_rows import found_in, loaded, with_retry
from support.spark.table_logs import need_format, rows_read_by

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ID = {"name": "id", "type": "long"}
ADDED = {"name": "added", "type": ["null", "string"], "default": None}


@pytest.fixture
def archiving(spark: "SparkSession", servers: str, tmp_path: Path) -> Archiving:
    return Archiving(spark, servers, tmp_path / "table")


def schema(*fields: dict[str, Any]) -> str:
    return json.dumps({"type": "record", "name": "Event", "fields": fields})


def framed(schema_id: int, text: str, **fields: Any) -> bytes:
    import fastavro

    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(json.loads(text)), fields)
    return b"\0" + schema_id.to_bytes(4, "big") + stream.getvalue()


def killed(*_: Any) -> None:
    raise OSError("the job was killed before the commit")


def decoded(spark: "SparkSession", root: Path) -> list[tuple[int, Any]]:
    """Returns the offset and the decoded value of each row."""
    from pybroker.pipeline.archive.archive_rows import read_archive

    rows = with_retry(lambda: read_archive(spark, str(root)).orderBy("offset").select("offset", "decoded").collect())
    return [(row[0], row[1] and row[1].asDict()) for row in rows]


def test_avro_values_of_a_registry_become_columns_and_bad_ones_dead_letters_once(
    archiving: Archiving,
    spark: "SparkSession",
    servers: str,
    topic: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("fastavro")
    from pybroker.pipeline.archive.table_commits import TableCommits

    create_topic(servers, topic, 1)
    create_topic(servers, f"{topic}-dead", 2)
    (tmp_path / "registry").write_text("basic.auth.user.info=alice:canary")
    old, new = schema(ID), schema(ID, ADDED)
    with fake_registry() as served:
        served.user_info = "alice:canary"
        first, second = served.register(f"{topic}-value", old), served.register("elsewhere", new)
        values = [framed(first, old, id=1), b"no", None, framed(99, old, id=2), framed(second, new, id=3, added="x")]
        sent = [Produced(topic, 0, -1, START_MS, b"k", value, (("h", b"1"),)) for value in values]
        expected = produce(servers, sent)

        def archive(*further: str) -> int:
            arguments = ["archive", "--bootstrap-servers", servers, "--topics", topic, "--to", str(archiving.root)]
            arguments += ["--available-now", "--value-format", "avro", "--schema-registry", served.url]
            arguments += ["--registry-config", str(tmp_path / "registry")]
            return run_command(spark, *arguments, *further)

        assert archive("--dead-letters", topic) == BAD_INPUT, "the job would read its own dead letters"
        with monkeypatch.context() as broken:
            broken.setattr(
                TableCommits, "publish", lambda *_: (_ for _ in ()).throw(OSError("killed before the commit"))
            )
            assert archive("--dead-letters", f"{topic}-dead") == FAILED
        assert archive("--dead-letters", f"{topic}-dead") == 0, capsys.readouterr().err
        assert decoded(spark, archiving.root) == [(0, {"id": 1}), (2, None), (4, {"id": 3})]
        assert archiving.rows("dead-letters") == [expected[1], expected[3]], "the raw values"
        assert archiving.faults() == []

        committed = {"includeHeaders": "true", "kafka_isolation_level": "read_committed"}
        letters = found_in(loaded(spark.read, servers, subscribe=f"{topic}-dead", **committed))
        whys = {
            1: b"the value has 2 bytes, too few for a schema id",
            3: b"schema 99 can't be used: the schema registry does not have schema 99",
        }
        assert [(each.key, each.value) for each in letters] == [(b"k", values[offset]) for offset in whys], "once each"
        assert [dict(each.headers) for each in letters] == [
            {
                "h": b"1",
                "dead-letter.topic": topic.encode(),
                "dead-letter.partition": b"0",
                "dead-letter.offset": str(offset).encode(),
                "dead-letter.error": why,
            }
            for offset, why in whys.items()
        ]
    written = [path for path in archiving.root.rglob("*") if path.is_file()]
    assert [path for path in written if b"canary" in path.read_bytes()] == [], "checkpoint, manifest, table"


def test_columns_of_json_values_are_inferred_once_and_later_ones_added(
    archiving: Archiving, spark: "SparkSession", servers: str, topic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    create_topic(servers, topic, 1)
    archive = ["archive", "--bootstrap-servers", servers, "--topics", topic, "--to", str(archiving.root)]
    archive += ["--available-now"]
    decode = [*archive, "--value-format", "json", "--table-format", "delta"]
    produce(servers, [Produced(topic, 0, -1, START_MS, None, b'{"id": 1}')])
    assert run_command(spark, *decode) == 0, capsys.readouterr().err
    produce(servers, [Produced(topic, 0, -1, START_MS, None, value) for value in (b'{"id": 2, "more": 1}', b"{]")])
    assert run_command(spark, *decode) == 0, capsys.readouterr().err
    assert decoded(spark, archiving.root) == [(0, {"id": 1}), (1, {"id": 2})]
    assert [record.value for record in archiving.rows("dead-letters")] == [b"{]"]

    produce(servers, [Produced(topic, 0, -1, START_MS, None, b'{"id": 4, "more": 5}')])
    assert run_command(spark, *decode, "--value-schema", "id bigint, more int") == 0, capsys.readouterr().err
    expected = [(0, {"id": 1, "more": None}), (1, {"id": 2, "more": None}), (3, {"id": 4, "more": 5})]
    assert decoded(spark, archiving.root) == expected
    assert archiving.faults() == []

    assert run_command(spark, *decode, "--value-schema", "id string, more int") == BAD_INPUT
    assert "the column id is bigint in the table, but string in the new schema" in capsys.readouterr().err
    assert run_command(spark, *archive) == BAD_INPUT
    assert "the values of this table are decoded: give --value-format json" in capsys.readouterr().err


def test_protobuf_values_become_columns_of_an_iceberg_table(
    archiving: Archiving,
    spark: "SparkSession",
    servers: str,
    topic: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    need_format("iceberg")
    pytest.importorskip("google.protobuf")
    pytest.importorskip("grpc_tools")
    create_topic(servers, topic, 1)
    (tmp_path / "event.proto").write_text(
        'syntax = "proto3"; message Event { int64 id = 1; repeated string tags = 2; }'
    )
    values = (b"\x08\x07\x12\x01a", b"\xff", None)
    dead = produce(servers, [Produced(topic, 0, -1, START_MS, None, value) for value in values])[1]
    arguments = ["archive", "--bootstrap-servers", servers, "--topics", topic, "--to", str(archiving.root)]
    arguments += ["--available-now", "--value-format", "protobuf", "--value-schema", str(tmp_path / "event.proto")]
    assert run_command(spark, *arguments, "--table-format", "iceberg") == 0, capsys.readouterr().err
    found = [(row["offset"], row["decoded"]) for row in rows_read_by("iceberg", archiving.root)]
    assert found == [(0, {"id": 7, "tags": ["a"]}), (2, None)]
    assert archiving.rows("dead-letters") == [dead]
    assert archiving.faults() == []
