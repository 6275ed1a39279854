"""A broker process under the tracer, with settings that keep a million strange requests fast and small on disk."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.fuzzing.branch_map import BranchMap
from support.processes.broker_process import BrokerProcess

__all__ = ["SETTINGS", "traced_broker"]

_TESTS = Path(__file__).resolve().parents[2]
_START = (
    f"import sys; sys.path[0] = {str(_TESTS)!r};"
    " from support.fuzzing.traced_broker import run; raise SystemExit(run(sys.argv[1:]))"
)
SETTINGS = {
    # Silent members expire soon, and with them the groups that other requests wait for.
    "group.min.session.timeout.ms": "10",
    "group.max.session.timeout.ms": "1000",
    "offsets.topic.num.partitions": "4",
    "log.segment.bytes": "1000000",
}


@contextmanager
def traced_broker(directory: Path) -> Iterator[tuple[BrokerProcess, BranchMap]]:
    """A broker under the tracer; a clean stop at the end must succeed."""
    path = directory / "branches"
    reached = BranchMap.create(path)
    broker = BrokerProcess(directory / "broker", SETTINGS, (sys.executable, "-c", _START, str(path)))
    broker.start()
    try:
        yield broker, reached
    except BaseException:
        broker.kill()
        raise
    finally:
        reached.close()
    assert broker.stop() == 0, broker.output[-5000:]
