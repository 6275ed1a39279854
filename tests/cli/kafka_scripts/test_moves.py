"""``kafka-reassign-partitions`` and ``kafka-leader-election`` while replicas move between two brokers."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pybroker import Cluster
from support.clients.recorded_scripts import Printed, run_here, run_kafkas
from support.time.patience import await_that

pytestmark = pytest.mark.long

RECORDS = "".join(f"key:{'x' * 1000}\n" for _ in range(300))


def plan_text(*replicas: int) -> str:
    return json.dumps({"version": 1, "partitions": [{"topic": "demo", "partition": 0, "replicas": replicas}]})


def test_move_is_listed_cancelled_and_completed_as_kafkas_scripts_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_here(capsys, monkeypatch, tmp_path / "stdin")
    file = tmp_path / "plan.json"
    with Cluster(2, {"replica.fetch.max.bytes": "1000", "replica.fetch.response.max.bytes": "1000"}) as cluster:
        servers = ["--bootstrap-server", cluster.bootstrap_servers]
        plan = ["--reassignment-json-file", str(file)]

        def reassign(*arguments: str, by: Callable[[list[str], str], Printed] = run) -> Printed:
            return by(["kafka-reassign-partitions", *servers, *arguments], "")

        run(["kafka-topics", *servers, "--create", "--topic", "demo", "--replica-assignment", "1"], "")
        producing = ["--topic", "demo", "--property", "parse.key=true", "--property", "key.separator=:"]
        run(["kafka-console-producer", *servers, *producing], RECORDS)
        file.write_text(plan_text(1, 2))
        begun = reassign("--execute", "--throttle", "1", *plan)
        assert "The inter-broker throttle limit was set to 1 B/s\nSuccessfully started partition reassign" in begun.out
        for arguments in (["--list"], ["--verify", "--preserve-throttles", *plan], ["--execute", *plan]):
            ours, theirs = reassign(*arguments), reassign(*arguments, by=run_kafkas)
            assert (arguments[0], ours.out, ours.code) == (arguments[0], theirs.out, theirs.code)
        assert reassign("--list").out == "Current partition reassignments:\ndemo-0: replicas: 1,2. adding: 2.\n"
        cancelled = reassign("--cancel", *plan).out
        assert cancelled.startswith("Successfully cancelled partition reassignment for: demo-0\n")
        assert reassign("--list").out == "No partition reassignments found.\n"
        file.write_text(plan_text(2, 1))
        reassign("--execute", *plan)
        await_that(lambda: "is completed" in reassign("--verify", *plan).out, "the move")
        electing = ["kafka-leader-election", *servers, "--election-type", "preferred", "--topic", "demo"]
        elected = run([*electing, "--partition", "0"], "")
        assert elected.out == "Successfully completed leader election (PREFERRED) for partitions demo-0\n"
        again = [each([*electing, "--partition", "0"], "") for each in (run, run_kafkas)]
        assert {(each.out, each.code) for each in again} == {
            ("Valid replica already elected for partitions demo-0\n", 0)
        }
