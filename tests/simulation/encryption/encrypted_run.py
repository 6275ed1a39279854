"""Runs a cluster whose clients and brokers speak TLS with certificates on both sides.

Nothing of TLS is replaced: its records go over the simulated network, in reads and windows of all sizes. OpenSSL draws
its random numbers itself, so the bytes of two runs of a seed differ. Their number does not: RSA signatures have one
length, and tickets, which TLS 1.2 alone sends here, have one too. A run depends on their number alone, because only
TLS looks at ciphertext.
"""

from dataclasses import replace
from random import Random

from simulation.encryption.stream_watch import StreamWatch
from simulation.machines.simulated_cluster import SimulatedCluster
from simulation.runs.simulation_run import Plan, Result, SimulationRun, result_of

__all__ = ["encrypted_plan", "run_encrypted"]

_VERSIONS = ("TLSv1.2", "TLSv1.3")
_WINDOWS_BYTES = (500, 5_000, 64 * 1024)
_SHORT_READ_BYTES = 2_000
_LONG_READ_BYTES = 64 * 1024


def encrypted_plan(seed: int) -> Plan:
    """The seed's plan, with TLS."""
    plan = Plan.of_seed(seed)
    return replace(plan, shape=replace(plan.shape, tls_versions=_VERSIONS[seed % 2]))


def run_encrypted(seed: int, plan: Plan | None = None) -> Result:
    """Run one seed."""
    plan = plan or encrypted_plan(seed)
    random = Random(f"reads {seed}")
    cluster = SimulatedCluster(plan.broker_count, Random(seed), shape=plan.shape)
    cluster.network.window_bytes = random.choice(_WINDOWS_BYTES)
    cluster.network.read_bytes = lambda: random.choice((random.randint(1, _SHORT_READ_BYTES), _LONG_READ_BYTES))
    cluster.network.merges_messages = True
    with StreamWatch(cluster.history).at_work():
        return result_of(seed, SimulationRun(cluster, plan))
