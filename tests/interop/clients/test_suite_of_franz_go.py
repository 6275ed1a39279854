"""The Go client franz-go's own tests: groups of both protocols, share groups and transactions against pybroker."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from support.clients.foreign_clients import CACHE, PROGRAMS, bring
from support.processes.broker_process import BrokerProcess

pytestmark = pytest.mark.long

SETTINGS = {
    "group.coordinator.rebalance.protocols": "classic,consumer,share",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "4",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "4",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}
RECORDS = 30_000
WITH_A_BROKER = {
    "TestGroupETL",
    "TestGroupETL/range/848",
    "TestGroupETL/sticky/848/static",
    "TestGroupSimple/848",
    "TestShareGroup",
    "TestShareGroupAckOnClose",
    "TestShareGroupETL",
    "TestShareGroupOffsetsAdmin",
    "TestTxnEtl",
}
"""Some of the tests that run against the broker."""
SKIPPED = {
    "TestOAuthAuth": "no login",
    "TestSCRAMAuth": "no login",
    "TestSCRAMAuthBadCredentials": "no login",
    "TestIssueProduceBrokerTooOldFailsRecords": "the broker is not too old",
}
RESULT = re.compile(r"^ *--- (PASS|SKIP|FAIL): (\S+)", re.MULTILINE)


def source() -> Path:
    """The folder with the source of the tests, which some of them read."""
    (version,) = re.findall(r"franz-go (v\S+)", (PROGRAMS / "kgo" / "go.mod").read_text())
    return CACHE / "modules" / "github.com" / "twmb" / f"franz-go@{version}" / "pkg" / "kgo"


def test_own_tests_of_franz_go_pass(tmp_path: Path) -> None:
    bring("kgo")
    with BrokerProcess(tmp_path, SETTINGS) as broker:
        environment = {
            **os.environ,
            "KGO_SEEDS": broker.bootstrap_servers,
            "KGO_TEST_RF": "1",
            "KGO_TEST_RECORDS": str(RECORDS),
            "KGO_LOG_LEVEL": "none",
        }
        done = subprocess.run(
            [CACHE / "franz-go" / "kgo.test", "-test.v", "-test.timeout=20m"],
            env=environment,
            cwd=source(),
            capture_output=True,
            text=True,
            check=False,
        )
    results: dict[str, set[str]] = {"PASS": set(), "SKIP": set(), "FAIL": set()}
    for verdict, test in RESULT.findall(done.stdout):
        results[verdict].add(test)
    print(done.stdout[-100_000:])  # pytest shows this output if the test fails
    assert (done.returncode, results["FAIL"]) == (0, set()), done.stderr[-10_000:]
    assert results["SKIP"] == set(SKIPPED)
    assert results["PASS"] >= WITH_A_BROKER
