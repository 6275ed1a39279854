"""Runs a cluster with an authorizer, in which a client denies writing to a topic again and again."""

from random import Random

from pybroker.config.authorization import ACL_AUTHORIZER
from simulation.authorization.guarded_topic import GUARDED, GuardedTopic
from simulation.machines.simulated_cluster import SimulatedCluster
from simulation.runs.simulation_run import Plan, Result, SimulationRun, result_of

__all__ = ["run_guarded"]

_SETTINGS = {"authorizer.class.name": ACL_AUTHORIZER, "allow.everyone.if.no.acl.found": "true"}


def run_guarded(seed: int, plan: Plan | None = None) -> Result:
    """Run one seed."""
    plan = plan or Plan.of_seed(seed)
    cluster = SimulatedCluster(plan.broker_count, Random(seed), _SETTINGS, shape=plan.shape)
    return result_of(seed, GuardedRun(cluster, plan))


class GuardedRun(SimulationRun):
    """See `SimulationRun`."""

    _guarded: GuardedTopic | None = None

    async def _create_topics(self) -> None:
        await super()._create_topics()
        brokers = list(self.cluster.brokers)
        replicas = self._random.sample(brokers, min(2, len(brokers)))
        if not await self._admin.create(GUARDED, [replicas], {"min.insync.replicas": "1"}):
            self._fail("the guarded topic was not created")

    def _start_clients(self) -> None:
        super()._start_clients()
        self._guarded = GuardedTopic(self.cluster.client("guard"), list(self.cluster.brokers))
        self._spawn_client("guard", self._guarded.run())
        self._guarding = self._client_tasks[-1]

    def _stop_producers(self) -> None:
        super()._stop_producers()
        if self._guarded is not None:
            self._guarded.stop()

    async def _heal(self) -> None:
        await super()._heal()
        assert self._guarded is not None
        await self._guarding
        await self.cluster.spawn("guard", self._guarded.every_broker_obeys())
