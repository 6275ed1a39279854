"""The main function of the big-batch process: reads pickled jobs from stdin, writes pickled results to stdout.

The process ends when its stdin closes, so with the broker however that dies, and when it is idle for a while.
"""

from __future__ import annotations

import os
import pickle
import select
import sys
from typing import BinaryIO

from ...protocol.errors import KafkaError
from .big_batches import describe_error
from .unpacking import read_all_in_this_process

_NICENESS = 5
"""Producers wait for this process, but producers of small batches come first."""
_IDLE_S = 10.0


def main() -> None:
    """Run jobs until stdin closes or the process is idle."""
    os.nice(_NICENESS)
    read_all_in_this_process()
    with open(os.dup(sys.stdout.fileno()), "wb") as results:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # so that a stray print does not end up among the results
        while _is_there_more(sys.stdin.buffer):
            do_job(sys.stdin.buffer, results)


def _is_there_more(jobs: BinaryIO) -> bool:
    readable, _, _ = select.select([jobs], [], [], _IDLE_S)
    return bool(readable) and bool(jobs.peek(1))  # type: ignore[attr-defined]


def do_job(jobs: BinaryIO, results: BinaryIO) -> None:
    """Run one job. A KafkaError is its result; any other error ends this process."""
    function, arguments = pickle.load(jobs)
    try:
        result = (True, function(*arguments))
    except KafkaError as error:
        result = (False, describe_error(error))
    pickle.dump(result, results, pickle.HIGHEST_PROTOCOL)
    results.flush()
