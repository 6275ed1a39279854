"""``pybroker log stat`` sums up the records of partitions correctly, in the requested order."""

import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pybroker.broker.commands.log.progress_bar import ProgressBar
from support.logs.log_tool import REFERENCE, LogTool, write_broker_directory


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory of ours."""
    path = tmp_path_factory.mktemp("ours") / "data"
    write_broker_directory(path)
    return path


def data_directory(name: str, ours: Path) -> Path:
    return ours if name == "ours" else REFERENCE / name / "data"


def partitions(log_tool: LogTool, *arguments: str | Path) -> list[dict[str, Any]]:
    return log_tool("stat", "--json", *arguments).objects("partition")


@pytest.mark.parametrize("name", ["ours", "kafka-3.9", "ibp-2.8"])
def test_stat_counts_the_same_records_as_dump(name: str, ours: Path, log_tool: LogTool) -> None:
    data = data_directory(name, ours)
    found = partitions(log_tool, data)
    directories = {path.parent.name for path in data.rglob("*.log")}
    assert {one["directory"] for one in found} == directories
    for one in found:
        directory = data / one["directory"]
        dump = log_tool("dump", "--json", "--deep-iteration", directory)
        records, batches = dump.objects("record"), dump.objects("batch")
        times = [record["timestamp"] for record in records if record["timestamp"] >= 0]
        assert (one["records"], one["batches"]) == (len(records), len(batches))
        assert one["newestMs"] == max(times, default=None)
        assert one["sizeBytes"] == sum(batch["size"] for batch in batches)
        assert one["segments"] == len(list(directory.glob("*.log")))
        assert one["logEndOffset"] == batches[-1]["lastOffset"] + 1
        assert set(one["codecs"]) == {batch["compression"] for batch in batches}
        if name == "ours":  # times rise within a batch: the header tells its oldest record
            assert one["oldestMs"] == min(times)
        if not (one["oldestMs"] is None or directory.name == "golden1-compacted-0"):
            first = {batch["position"]: batch for batch in batches}[0]
            assert min(times) <= one["oldestMs"] <= first["maxTimestamp"]


def test_log_start_is_read_from_the_checkpoint_or_the_first_segment(ours: Path, log_tool: LogTool) -> None:
    starts = {one["directory"]: one["logStartOffset"] for one in partitions(log_tool, REFERENCE / "kafka-3.9" / "data")}
    assert (starts["golden1-append-time-0"], starts["golden1-plain-0"]) == (9, 0)
    (one,) = partitions(log_tool, ours / "topic-0")
    assert one["logStartOffset"] == 5


def test_stat_totals_are_the_sums_over_all_partitions(log_tool: LogTool, ours: Path) -> None:
    ran = log_tool("stat", "--json", ours, REFERENCE / "ibp-2.8" / "data")
    found, (total,) = ran.objects("partition"), ran.objects("total")
    assert total["partitions"] == len(found) == 6
    for name in ("sizeBytes", "segments", "records", "batches"):
        assert total[name] == sum(one[name] for one in found)
    assert total["codecs"]["gzip"] == sum(one["codecs"].get("gzip", 0) for one in found)
    assert total["newestMs"] == max(one["newestMs"] for one in found if one["newestMs"] is not None)


@pytest.mark.parametrize("by", ["name", "size", "records", "oldest", "newest"])
def test_stat_sorts_partitions_by_the_given_key(by: str, log_tool: LogTool) -> None:
    found = partitions(log_tool, "--sort", by, REFERENCE / "kafka-3.9" / "data")
    keys = {
        "name": [(one["topic"], one["partition"]) for one in found],
        "size": [-one["sizeBytes"] for one in found],
        "records": [-one["records"] for one in found],
        "oldest": [one["oldestMs"] for one in found],
        "newest": [one["newestMs"] for one in found],
    }[by]
    assert keys == sorted(keys)


def test_stat_table_has_a_line_for_each_partition_and_the_totals(ours: Path, log_tool: LogTool) -> None:
    ran = log_tool("stat", ours)
    head, first, _, last, total = ran.lines
    assert head.split()[:3] == ["PARTITION", "SIZE", "SEGMENTS"]
    assert first.split() == ["plain-0", "88", "B", "1", "3", "0", "3", *first.split()[7:]]
    assert last.startswith("topic-0 ")
    newest = partitions(log_tool, ours / "topic-0")[0]["newestMs"]
    assert datetime.fromtimestamp(newest // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") in last
    assert total.startswith("3 partitions ")


def test_an_empty_and_a_damaged_partition_are_summed_up(tmp_path: Path, log_tool: LogTool) -> None:
    for name, data in (("empty-0", b""), ("torn-0", bytes(100))):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{7:020}.log").write_bytes(data)
    empty, torn = partitions(log_tool, tmp_path)
    assert (empty["records"], empty["oldestMs"], empty["logStartOffset"], empty["logEndOffset"]) == (0, None, 7, 7)
    assert torn["trailingBytes"] == 100
    assert log_tool("stat", tmp_path).exit_code == 0


def test_stat_reports_bad_input_in_one_line(tmp_path: Path, log_tool: LogTool) -> None:
    for arguments in (["stat"], ["stat", tmp_path], ["stat", tmp_path / "missing"], ["stat", "--sort", "x", tmp_path]):
        ran = log_tool(*arguments)
        assert (ran.exit_code, ran.lines, len(ran.errors)) == (2, [], 1)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_bar_is_drawn_only_on_a_terminal() -> None:
    terminal, pipe = Terminal(), io.StringIO()
    for stream in (terminal, pipe):
        bar = ProgressBar(stream, 2 << 20)
        bar.advance(1 << 20)
        bar.clear()
    assert " 50% of 2 MiB" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")
    assert pipe.getvalue() == ""
