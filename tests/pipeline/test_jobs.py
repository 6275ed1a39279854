"""Tests of the command line of `pybroker-pipeline` that need no Spark session."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from pybroker.pipeline.charts.page import counted
from pybroker.pipeline.jobs.archive_command import parser, source_of
from pybroker.pipeline.jobs.command import BAD_INPUT, FAILED, failure_line, main, say
from pybroker.pipeline.jobs.metrics_file import MetricsFile, Progress

REPLAYED = ["--archive", "/lake", "--bootstrap-servers", "b:9092", "--checkpoint", "/c"]
MIRRORED = ["--source", "b:9092", "--target", "c:9092", "--checkpoint", "/c"]
NEEDED = ["--bootstrap-servers", "b:9092", "--topics", "a,b", "--to", "/lake"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], ""),
        (["archiv"], "unknown job 'archiv'; the jobs are archive, "),
        (["archive", "--to", "/lake"], "--bootstrap-servers"),
        (["archive", *NEEDED, "--pattern", "x"], "not allowed with argument --topics"),
        (["archive", *NEEDED, "--conf", "spark.x"], "argument --conf: spark.x must be NAME=VALUE"),
        (["archive", *NEEDED, "--option", "=latest"], "argument --option: =latest must be NAME=VALUE"),
        (["py-files", "/dev/null/a"], "argument DIR: /dev/null is not a directory"),
        (["archive", *NEEDED, "--frequently"], "unrecognized arguments: --frequently"),
        (["archive", *NEEDED, "--every", "often"], "argument --every: must be like '10 seconds', not 'often'"),
        (["archive", *NEEDED, "--table-format", "orc"], "argument --table-format: invalid choice: 'orc'"),
        (["archive", *NEEDED, "--max-records", "0"], "argument --max-records: 0 must be greater than 0"),
        (["archive", *NEEDED, "--value-format", "xml"], "argument --value-format: invalid choice: 'xml'"),
        (["archive", *NEEDED, "--dead-letters", "t"], "--dead-letters needs --value-format"),
        (
            ["archive", *NEEDED, "--value-format", "json", "--dead-letters-option", "kafka.acks=all"],
            "--dead-letters-option needs --dead-letters",
        ),
        (["archive", *NEEDED, "--value-format", "json", "--json-schema", "a int"], "--json-schema can't be used with"),
        (["archive", *NEEDED, "--value-format", "avro"], "avro needs --value-schema or --schema-registry"),
        (
            ["archive", *NEEDED, "--value-format", "avro", "--schema-registry", "http://r"],
            "--value-schema is required unless --topics names a single topic",
        ),
        (
            ["archive", *NEEDED, "--value-format", "json", "--registry-config", "f"],
            "--registry-config needs --schema-registry",
        ),
        (["archive", *NEEDED, "--value-format", "json", "--value-message", "m"], "needs --value-format protobuf"),
        (["audit"], "DIR"),
        (["audit", "/", "--json", "/no/where/a.json"], "--json: can't write a.json: there is no directory /no/where"),
        (["audit", "/", "--html", "/"], "argument --html: / is a directory"),
        (["compact-archive"], "TO"),
        (["compact-archive", "/lake", "--file-mib", "0"], "0 must be greater than 0"),
        (["compact-archive", "/lake", "--keep-hours", "-1"], "-1 must not be negative"),
        (["report", "--bootstrap-servers", "b:9092"], "--bootstrap-servers needs --topics"),
        (["report", "--archive", "/lake", "--option", "a=b"], "--option can't be used with --archive"),
        (["archive", *NEEDED, "--command-config", "/no/file"], "argument --command-config: /no/file: cannot be read"),
        (
            ["report", "--archive", "/lake", "--html", "/no/where/a.html"],
            "--html: can't write a.html: there is no directory /no/where",
        ),
        (["report", "--archive", "/lake", "--png", "/dev/null/a"], "argument --png: /dev/null is not a directory"),
        (["replay", "--archive", "/lake"], "--bootstrap-servers, --checkpoint"),
        (["replay", *REPLAYED, "--topics", " ,"], "argument --topics: ' ,' has no name"),
        (["replay", *REPLAYED, "--rate", "0"], "--rate must be greater than 0"),
        (["replay", *REPLAYED, "--from-time", "yesterday"], "--from-time: must be like 2026-11-21 or"),
        (["replay", *REPLAYED, "--compression", "rar"], "argument --compression: invalid choice: 'rar'"),
        (["mirror", "--source", "b:9092"], "--target, --checkpoint"),
        (["mirror", *MIRRORED, "--topics", "a", "--pattern", "b"], "not allowed with argument --topics"),
        (
            ["mirror", *MIRRORED, "--topics", "a", "--max-records", "-5"],
            "argument --max-records: -5 must be greater than 0",
        ),
    ],
)
def test_bad_arguments_are_reported_in_one_line(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == BAD_INPUT
    errors = capsys.readouterr().err
    assert says in errors
    assert errors.count("\n") <= 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["archive", *NEEDED, "--option", "startingOffset=latest"], "Unknown option 'startingOffset'"),
        (["archive", *NEEDED, "--option", "endingOffsets=latest"], "'endingOffsets' is not valid in a streaming query"),
        (["report", "--bootstrap-servers", "b:9092", "--topics", "a", "--option", "begin=1"], "Unknown option 'begin'"),
        (["report", "--log-directory", "/", "--option", "kafka.client.id=1"], "'kafka.client.id' has no effect on log"),
        (["mirror", *MIRRORED, "--topics", "a", "--source-option", "offsets=1"], "Unknown option 'offsets'"),
        (["mirror", *MIRRORED, "--topics", "a", "--target-option", "kafka.ack=1"], "kafka.ack"),
        (["replay", *REPLAYED, "--option", "kafka.ack=1"], "kafka.ack"),
    ],
)
def test_wrong_options_of_sources_and_targets_are_reported_in_one_line(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Uses PySpark's classes, but no JVM is started."""
    pyspark = pytest.importorskip("pyspark", reason="the extra 'spark' is not installed: there is no PySpark")
    before = pyspark.SparkContext._gateway
    assert main(arguments) == BAD_INPUT
    errors = capsys.readouterr().err
    assert says in errors
    assert errors.count("\n") == 1
    assert pyspark.SparkContext._gateway is before


def test_help_lists_all_jobs_and_imports_no_spark() -> None:
    program = (
        "import sys; from pybroker.pipeline.jobs.command import main; code = main(['--help']); "
        "sys.exit(9 if {'pyspark', 'pyarrow', 'numpy'} & set(sys.modules) else code)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    for job in ("archive", "check-archive", "compact-archive", "replay", "mirror", "audit", "report", "py-files"):
        assert f"  {job} " in ran.stdout


def test_missing_extra_is_reported_in_one_line() -> None:
    program = (
        "import sys; sys.modules['pyspark'] = None; from pybroker.pipeline.jobs.command import main; "
        "sys.exit(main(['audit', '/']))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (FAILED, "")
    assert ran.stderr.startswith("pybroker-pipeline: pyspark")
    assert ran.stderr.endswith("install the extra 'spark': pip install 'pybroker[spark]'\n")
    assert ran.stderr.count("\n") == 1


@pytest.mark.parametrize(("name", "library"), [("delta", "deltalake"), ("iceberg", "pyiceberg")])
def test_missing_extra_of_a_table_format_is_reported_before_spark_starts(
    name: str, library: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pyspark = pytest.importorskip("pyspark", reason="the extra 'spark' is not installed: there is no PySpark")
    before = pyspark.SparkContext._gateway
    for module in [each for each in sys.modules if each.partition(".")[0] == library]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, f"pybroker.pipeline.archive.{name}_log", raising=False)
    assert main(["archive", *NEEDED, "--table-format", name]) == FAILED
    assert capsys.readouterr().err.endswith(f"install the extra '{name}': pip install 'pybroker[{name}]'\n")
    assert pyspark.SparkContext._gateway is before


def test_too_old_pyspark_is_reported_in_one_line() -> None:
    """Spark 3 has no `pyspark.sql.datasource`."""
    pytest.importorskip("pyspark", reason="the extra 'spark' is not installed: there is no PySpark")
    program = (
        "import sys; sys.modules['pyspark.sql.datasource'] = None; from pybroker.pipeline.jobs.command import main; "
        "code = main(['audit', '/'])\ntry:\n import pybroker.pipeline as it; it.PybrokerDataSource\n"
        "except ImportError as error: print(error)\nsys.exit(code)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    line = "this PySpark is too old: pybroker's data sources need 4.0 or newer\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (FAILED, line, f"pybroker-pipeline: {line}")


def test_job_arguments_become_options_of_the_source() -> None:
    given = [
        "--max-records",
        "7",
        "--group",
        "g",
        "--option",
        "startingOffsets=latest",
        "--option",
        "kafka.client.id=c",
    ]
    assert source_of(parser().parse_args([*NEEDED, *given])) == {
        "kafka.bootstrap.servers": "b:9092",
        "subscribe": "a,b",
        "includeHeaders": "true",
        "startingOffsets": "latest",
        "maxOffsetsPerTrigger": "7",
        "commitOffsetsToGroup": "g",
        "kafka.client.id": "c",
    }


def test_lists_of_names_may_have_blanks() -> None:
    from pybroker.pipeline.jobs import mirror_command, replay_command, report_command

    given = ["--topics", "a, b ,"]
    assert source_of(parser().parse_args([*NEEDED, *given]))["subscribe"] == "a,b"
    assert replay_command.selection_of(replay_command.parser().parse_args([*REPLAYED, *given])).topics == ("a", "b")
    assert report_command.parser().parse_args(["--archive", "/lake", *given]).topics == ("a", "b")
    mirrored = mirror_command.parser().parse_args([*MIRRORED, "--topics", "a", "--carry-groups", "g, h"])
    assert mirrored.carry_groups == ("g", "h")


def test_command_config_gives_the_connection_settings_of_a_file_that_options_override(tmp_path: Path) -> None:
    from pybroker.pipeline.jobs import mirror_command
    from pybroker.pipeline.jobs.arguments import given_options

    file = tmp_path / "client.properties"
    file.write_text("security.protocol=SSL\nssl.truststore.type=PEM\nacks=all\nbootstrap.servers=elsewhere:1\n")
    overriding = ["--command-config", str(file), "--option", "kafka.security.protocol=SASL_SSL"]
    found = source_of(parser().parse_args([*NEEDED, *overriding]))
    assert found["kafka.security.protocol"] == "SASL_SSL"
    assert found["kafka.ssl.truststore.type"] == "PEM"
    assert found["kafka.bootstrap.servers"] == "b:9092"
    assert "kafka.acks" not in found
    both = mirror_command.parser().parse_args([*MIRRORED, "--topics", "a", "--target-command-config", str(file)])
    of_file = {"kafka.security.protocol": "SSL", "kafka.ssl.truststore.type": "PEM"}
    assert (given_options(both, "target_"), given_options(both, "source_")) == (of_file, {})


def test_times_are_utc_unless_they_name_a_zone() -> None:
    from pybroker.pipeline.jobs.replay_command import time_us

    assert time_us("1970-01-02") == 86_400_000_000
    assert time_us("1970-01-01T01:00:00.000001+01:00") == 1
    assert time_us("1969-12-31 23:59:59.999") == -1000


def test_spark_failure_is_shortened_to_one_line() -> None:
    ours = "Traceback\n  File x\npybroker.pipeline.appending.partition_append.AppendError: t-0: too large\n\n\tat org"
    assert failure_line(RuntimeError(f"An error: {ours}")) == "t-0: too large"
    assert failure_line(RuntimeError("\n[PARSE_SYNTAX_ERROR] at or near 'x'\n\n== SQL ==")) == (
        "[PARSE_SYNTAX_ERROR] at or near 'x'"
    )
    of_reader = (
        "[STREAM_FAILED] Query [id = 1] terminated with exception: [PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR] Failed "
        "when Python streaming data source perform initialOffset: Traceback (most recent call last):\n"
        '  File "socket.py", line 1, in create_connection\n    error: int = 1\n'
        "ConnectionRefusedError: [Errno 111] Connection refused\n\nThe above exception was the direct cause of the "
        "following exception:\n\nTraceback (most recent call last):\n  File x\n"
        "ConnectionError: no connection to h:1: [Errno 111] Connection refused\n\n SQLSTATE: 38000\nName: x"
    )
    assert failure_line(RuntimeError(of_reader)) == (
        "ConnectionError: no connection to h:1: [Errno 111] Connection refused"
    )
    of_java = "An error occurred while calling o9.rename.\n: java.io.IOException: no room\n\tat org.apache.Files"
    assert failure_line(RuntimeError(of_java)) == "java.io.IOException: no room"
    in_batch = f"Return Message: Traceback (most recent call last):\n  File x\npy4j.protocol.Py4JJavaError: {of_java}"
    assert failure_line(RuntimeError(in_batch)) == "java.io.IOException: no room"


@pytest.mark.parametrize(
    ("is_terminal", "kind", "written"),
    [(True, "xterm", "\r\033[Kdone\n"), (True, "dumb", "done\n"), (False, "xterm", "done\n")],
)
def test_line_replaces_sparks_progress_bar_on_a_terminal(
    is_terminal: bool,
    kind: str,
    written: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", kind)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    say("done")
    assert capsys.readouterr().err == written


@pytest.mark.parametrize(
    ("count", "noun", "words"),
    [(1, "partition", "1 partition"), (0, "file", "0 files"), (2, "directory", "2 directories")],
)
def test_counts_of_one_use_the_singular(count: int, noun: str, words: str) -> None:
    assert counted(count, noun) == words
    assert counted(1200, "micro-batch") == "1,200 micro-batches"


def test_metrics_file_has_the_last_report_and_the_end_in_prometheus_format(tmp_path: Path) -> None:
    file = tmp_path / "job.prom"
    metrics = MetricsFile(file, "archive", 'a "lake"')

    def values() -> dict[str, float]:
        families = text_string_to_metric_families(file.read_text())
        samples = [sample for family in families for sample in family.samples]
        assert {tuple(each.labels.values()) for each in samples} == {("archive", 'a "lake"')}
        return {each.name.removeprefix("pybroker_pipeline_"): each.value for each in samples}

    metrics.report(Progress(10, 2, 1.5, 7, 3.25))
    found = values()
    del found["last_progress_timestamp_seconds"]
    assert found == {
        "rows_total": 10, "batches_total": 2, "batch_seconds": 1.5, "lag_records": 7, "lag_seconds": 3.25, "running": 1
    }  # fmt: skip
    metrics.report(Progress(10, 2, 1.5, None, None))
    assert values().keys().isdisjoint({"lag_records", "lag_seconds"}), "not known"
    metrics.report(Progress(17, 3, 1.5, 0, None, dead_letters=2))
    assert values()["dead_letters_total"] == 2
    with pytest.raises(RuntimeError), metrics:
        raise RuntimeError
    assert (values()["lag_seconds"], values()["running"], values()["rows_total"]) == (0, 0, 17)
    assert list(tmp_path.iterdir()) == [file]
    MetricsFile(None, "archive", "").report(Progress(0, 0))


def test_zip_for_spark_submit_has_all_that_jobs_import(tmp_path: Path) -> None:
    assert main(["py-files", str(tmp_path / "out")]) == 0
    archive, program = tmp_path / "out" / "pybroker.zip", tmp_path / "out" / "pybroker_pipeline.py"
    code = (
        "import importlib, pkgutil, sys, pybroker.pipeline as root\n"
        "names = [each.name for each in pkgutil.walk_packages(root.__path__, 'pybroker.pipeline.')]\n"
        "optional = ('deltalake', 'pyiceberg', 'sqlalchemy')\n"
        "for name in names:\n"
        "    try: name.endswith('__main__') or importlib.import_module(name)\n"
        "    except ModuleNotFoundError as error:\n"
        "        if error.name not in optional: raise\n"
        "print(len(names), root.__file__)"
    )
    pytest.importorskip("numba", reason="the extra 'spark' is not installed: there is no numba")
    ran = run_with(archive, "-c", code)
    assert ran.returncode == 0, ran.stderr
    count, place = ran.stdout.split()
    assert int(count) > 50
    assert place == f"{archive}/pybroker/pipeline/__init__.py"
    helped = run_with(archive, str(program), "--help")
    assert (helped.returncode, helped.stdout.partition(" ")[0]) == (0, "usage:"), helped.stderr


def run_with(archive: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Runs Python with the package in a zip file, as spark-submit does."""
    environment = {**os.environ, "PYTHONPATH": str(archive)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
