"""Fixed seeds, one by one; and that a seed is the same run whatever Python does about hashes."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from simulation.campaign import useful_lines
from simulation.simulation_run import Plan, run_seed

TESTS = Path(__file__).parent.parent

_DIGEST = """
from simulation.simulation_run import run_seed
result = run_seed({seed})
print(result.digest, result.virtual_s, result.violation)
"""


FIXED = range(1, 101)
FAILED_ONCE = {
    107: "a block of producer ids that nobody waited for any more, and an error that nobody took note of",
    115: "an acks=1 record that a deposed leader took",
    117: "the same, without a fault",
    202: "a leader that had lost unsynced bytes, though another had been up when it did",
    413: "a consumer that never asked for metadata again, and read a near follower that nobody had told to stop",
    534: "a checker that took an election of a broker that was down for the last word",
    924: "a checker that took a member of the ISR for one that had caught up, for it looked at logs seldom",
    973: "an order for a registration whose session was gone, taken for an error nobody had thought of",
    1336: "writes under way together, of which only the first one's error was taken",
    1482: "the same as 1336",
    1984: "a log directory that failed at the very end of a stop, when nobody could be told any more",
    3215: "records that were deleted everywhere, and a replica back in that moment, of which the answer was told",
    3397: "a checker that did not know of a member that crashed on its way into the ISR",
    4100: "the same as 3215",
    4600: "the same as 3215",
    4889: "an operator who did not do what a broker asked for that had a partition in two directories",
    5182: "a follower that died without a controller, and stayed in the ISR",
    5253: "a checker that looked while a log was being cut",
    5353: "a checker that counted on a replica in a directory that had failed",
    5477: "a connection of the simulation that broke before it was made, and nobody was told",
    5628: "the same as 924",
    6088: "a step that came to a log at the very end of a stop, when no worker was left",
    6513: "the same as 1336",
    6641: "the same as 6088",
    6800: "the same as 6088",
    6897: "a checker that gave a disk less time to cut a log than it may take",
    8394: "reads under way together when the broker stopped: the errors of all but one were left to nobody",
}
"""Seeds above those that found something, and what it was. (What happens in a seed is another thing when the simulation
has changed.)"""


TURNS = 30_000
"""What a seed may take of the loop: with the code as it is, three quarters of it are one second of CPU."""


@pytest.mark.parametrize("seed", [*FIXED, *FAILED_ONCE])
def test_a_cluster_keeps_its_promises_at_the_price_of_a_seed(seed: int) -> None:
    result = run_seed(seed)
    assert result.violation is None, "\n".join((result.violation or "", *useful_lines(result)))
    assert result.counts["turns"] < TURNS


@pytest.mark.parametrize("seed", [29, 31])
def test_one_broker_keeps_its_promises(seed: int) -> None:
    result = run_seed(seed, replace(Plan.of_seed(seed), broker_count=1))
    assert result.violation is None, "\n".join((result.violation or "", *useful_lines(result)))


@pytest.mark.parametrize("seed", [3])
def test_a_seed_is_the_same_run_whatever_the_hashes(seed: int) -> None:
    runs = [
        subprocess.run(
            [sys.executable, "-c", _DIGEST.format(seed=seed)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    assert runs[0] == runs[1]
    assert runs[0]
