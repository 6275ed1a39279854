"""Tests of the choice of log lines that count as complaints."""

from support.processes.mixed_cluster import complaints_in

CHANGE = "[x] ERROR [Controller id=1 epoch=3] Controller 1 epoch 3 failed to change state for partition a-0 from A\n"
NOBODY = "kafka.common.StateChangeFailedException: Failed to elect leader for partition a-0 under strategy s\n"
NO_NODE = "org.apache.zookeeper.KeeperException$NoNodeException: KeeperErrorCode = NoNode\n"
INFO = "[x] INFO all is well (kafka.server.KafkaServer)\n"
TRACE = "\tat kafka.controller.Here.there(Here.scala:1)\n"


def test_error_with_exception_is_a_complaint_unless_excused() -> None:
    append = "[x] ERROR [ReplicaManager broker=1] Error processing append operation on partition a-0 (kafka.server)\n"
    late = "org.apache.kafka.common.errors.OutOfOrderSequenceException: Out of order\n"
    strange = "java.lang.NullPointerException\n"
    lines = [CHANGE, NOBODY, TRACE, CHANGE, NO_NODE, TRACE, INFO, append, late, append, strange, INFO]
    assert list(complaints_in(lines)) == [CHANGE + NO_NODE, append + strange]


def test_error_line_without_a_traceback_is_one_complaint() -> None:
    truncated = "[x] ERROR [ReplicaFetcher replicaId=1] Found invalid messages during fetch (kafka.server)\n"
    assert list(complaints_in([truncated, INFO])) == [truncated]
    assert list(complaints_in([INFO, truncated])) == [truncated]


def test_pybroker_has_no_additional_excuses() -> None:
    error, traceback = "2026-11-22 10:00:00 ERROR pybroker: what is this\n", "Traceback (most recent call last):\n"
    assert list(complaints_in([error, traceback])) == [error + traceback, traceback]
