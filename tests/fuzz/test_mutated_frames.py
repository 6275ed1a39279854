"""Tests that a running broker gives a declared response to malformed frames, or closes their connection.

Frames are requests by grammar, damaged golden frames, and noise; those that reached branches of the broker's code which
none had reached before are kept and changed further.

    scripts/test tests/fuzz/test_mutated_frames.py --fuzz-frames 100000 --fuzz-seed 7
    scripts/test tests/fuzz/test_mutated_frames.py --fuzz-replay .cache/fuzz/seed-7-000.json
"""

import asyncio
from pathlib import Path

import pytest
import uvloop
from support.fuzzing.fuzzer import Fuzzer, replay
from support.fuzzing.traced_process import traced_broker

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "reference" / "golden"
FAILURES = ROOT / ".cache" / "fuzz"
LONG = 1_000_000
_MOST_MIB = 160
"""A broker that has just started, and the decoding of one large request; 60 to 72 are usual."""


def fuzz(directory: Path, frames: int, seed: int) -> None:
    with traced_broker(directory) as (broker, reached):
        fuzzer = Fuzzer(broker, reached, GOLDEN, seed, FAILURES)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(fuzzer.run(frames))
        print(fuzzer.report)
    print(broker.lines[-1])  # the branches by folder
    assert fuzzer.complaints == {}
    assert fuzzer.sent == frames
    assert fuzzer.frames_kept > 0, "no frame was steered by"
    assert fuzzer.never_answered == set()
    assert fuzzer.peak_rss_bytes < _MOST_MIB << 20


def send_again(directory: Path, file: Path) -> None:
    """Send the frames of a saved failure again."""
    with traced_broker(directory) as (broker, reached):
        fuzzer = Fuzzer(broker, reached, GOLDEN, 0, directory / "failures")
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(replay(fuzzer, file.read_text()))
    assert fuzzer.complaints == {}


def test_every_mutated_frame_is_answered_as_declared_or_its_connection_closed(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    if (file := pytestconfig.getoption("--fuzz-replay")) is not None:
        send_again(tmp_path, Path(file))
        return
    fuzz(tmp_path, pytestconfig.getoption("--fuzz-frames"), pytestconfig.getoption("--fuzz-seed"))


@pytest.mark.long
@pytest.mark.timeout(0)
def test_mutated_frames_are_answered_as_declared_or_their_connections_closed(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    fuzz(tmp_path, LONG, pytestconfig.getoption("--fuzz-seed") + 1)
