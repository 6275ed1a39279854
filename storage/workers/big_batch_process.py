"""The process that reads large batches: jobs come in on stdin, what became of them goes out on stdout, both pickled.

It ends with its stdin, so with the broker, whatever that dies of; and when it had nothing to do for a while.
"""

from __future__ import annotations

import os
import pickle
import select
import sys
from typing import BinaryIO

from ...protocol.errors import KafkaError
from .big_batches import describe_error
from .unpacking import read_all_here

_NICENESS = 5
"""Producers wait for it; but those whose batches are small come first."""
_IDLE_S = 10.0


def main() -> None:
    """Do jobs until there are no more."""
    os.nice(_NICENESS)
    read_all_here()
    with open(os.dup(sys.stdout.fileno()), "wb") as results:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever prints something does not print among the results
        while _is_there_more(sys.stdin.buffer):
            do_job(sys.stdin.buffer, results)


def _is_there_more(jobs: BinaryIO) -> bool:
    readable, _, _ = select.select([jobs], [], [], _IDLE_S)
    return bool(readable) and bool(jobs.peek(1))  # type: ignore[attr-defined]


def do_job(jobs: BinaryIO, results: BinaryIO) -> None:
    """Do one job; the KafkaError that it raises is its result, any other error ends this process."""
    function, arguments = pickle.load(jobs)
    try:
        result = (True, function(*arguments))
    except KafkaError as error:
        result = (False, describe_error(error))
    pickle.dump(result, results, pickle.HIGHEST_PROTOCOL)
    results.flush()
