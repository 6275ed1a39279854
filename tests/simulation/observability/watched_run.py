"""Runs a cluster whose brokers tell how they are: lag of groups, probes, times of requests, all metrics.

The HTTP endpoint itself is closed, and what it would serve is asked for directly. Only parts that measure the CPU time
of this process are left out, because a run of a seed must always be the same.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from random import Random
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from pybroker.broker.http.request import HttpRequest
from pybroker.broker.lag.group_lags import PartitionLag
from pybroker.broker.metrics import exposition
from pybroker.broker.network.settings import Endpoint
from pybroker.broker.observability import Observability
from pybroker.broker.requests.loop_watch import LoopWatch
from simulation.checkers.history import ViolationError
from simulation.machines.simulated_broker import SimulatedBroker
from simulation.machines.simulated_cluster import SimulatedCluster
from simulation.machines.virtual_loop import on_host
from simulation.runs.simulation_run import Plan, Result, SimulationRun, result_of
from support.in_process.scraping import ScrapedSamples, samples_in

__all__ = ["run_watched"]

_LOOK_S = 0.25
_SCRAPE_S = 2.0
_CHECK_S = exposition.SLICE_S / 5
"""The time that a scrape believes to have passed whenever it looks."""
_ENDPOINT = Endpoint("HTTP", "closed", 8092)


def run_watched(seed: int, plan: Plan | None = None) -> Result:
    """Run one seed."""
    plan = plan or Plan.of_seed(seed)
    cluster = SimulatedCluster(plan.broker_count, Random(seed), shape=plan.shape)
    with _observed(cluster):
        return result_of(seed, WatchedRun(cluster, plan))


@contextmanager
def _observed(cluster: SimulatedCluster) -> Iterator[None]:
    """Have the brokers make the parts that they make only with HTTP, on the clock of the simulation."""
    open_endpoint, watch_requests = Observability.open, Observability.watch_requests

    async def opened(self: Observability, *arguments: Any) -> None:
        await open_endpoint(self, *arguments)
        self.endpoints = (_ENDPOINT,)

    def watched(self: Observability, *arguments: Any) -> Any:
        timer = watch_requests(self, *arguments)
        assert timer is not None
        timer.now_s = cluster.loop.time
        return timer

    with (
        patch.object(Observability, "open", opened),
        patch.object(Observability, "watch_requests", watched),
        patch.object(LoopWatch, "start", lambda _watch: None),
        patch.object(exposition, "time", SimpleNamespace(perf_counter=count(0, _CHECK_S).__next__)),
    ):
        yield


class WatchedRun(SimulationRun):
    """See `SimulationRun`."""

    _is_watched = True

    def _start_clients(self) -> None:
        super()._start_clients()
        self._watching = [self.cluster.loop.create_task(each) for each in (self._look_at_lags(), self._scrape_all())]

    async def _end_clients(self) -> None:
        await super()._end_clients()
        self._is_watched = False
        await asyncio.gather(*self._watching)
        await self._check_healed_cluster()

    # -- while faults happen

    async def _look_at_lags(self) -> None:
        while self._is_watched:
            for broker in self.cluster.running():
                for lag in on_host(broker.name).run(_lags_of, broker):
                    self._check_lag(broker, lag)
                await self.cluster.spawn(broker.name, self._asked(broker, "safe_to_stop"))
            await asyncio.sleep(_LOOK_S)

    def _check_lag(self, broker: SimulatedBroker, found: PartitionLag) -> None:
        if found.end is None:
            self.counts["watched: unknown ends"] += 1
            assert found.lag is None
            return
        self.counts["watched: lags"] += 1
        self.counts["watched: lags above 0"] += bool(found.lag)
        self.counts["watched: lags in seconds"] += bool(found.lag_s)
        start, place = found.start or 0, found.topic_partition
        is_right = (
            start <= found.end <= self.cluster.committed_end((place.topic, place.partition))
            and found.lag == max(found.end - max(found.committed, start), 0)
            and (found.lag_s is None or found.lag_s >= 0)
            and (found.lag or not found.lag_s)
            and (found.catch_up_s is None or found.catch_up_s >= 0)
        )
        if not is_right:
            raise ViolationError(f"{broker.name}: {found} is not the lag of a group")

    async def _scrape_all(self) -> None:
        while self._is_watched:
            for broker in self.cluster.running():
                await self.cluster.spawn(broker.name, self._scrape(broker))
            await asyncio.sleep(_SCRAPE_S)

    async def _scrape(self, broker: SimulatedBroker) -> str:
        """The text of one scrape. A source may fail only if the broker ends meanwhile."""
        server = broker.server
        assert server is not None
        _, pieces = server.observability.metrics.scrape("")
        text = b"".join([piece async for piece in pieces]).decode()
        self.counts["watched: scrapes"] += 1
        if broker.server is server and server.is_running and "\npybroker_metrics_failed_sources 0\n" not in text:
            raise ViolationError(f"{broker.name}: a source of metrics has failed")
        return text

    async def _asked(self, broker: SimulatedBroker, probe: str) -> tuple[int, bytes]:
        """The status and the body of a probe."""
        assert broker.server is not None
        response = await getattr(broker.server.observability._probes, probe)(HttpRequest("GET", "/"))
        self.counts[f"watched: {probe} {response.status}"] += 1
        return response.status, response.body

    # -- when all is healed

    async def _check_healed_cluster(self) -> None:
        """Every broker is safe to stop, and the metrics of all brokers together describe the cluster."""
        cluster, scraped = self.cluster, {}
        for broker in cluster.running():
            status, body = await self.cluster.spawn(broker.name, self._asked(broker, "safe_to_stop"))
            if status != 200:
                raise ViolationError(f"{broker.name} is not safe to stop after all is healed: {body!r}")
            text = await self.cluster.spawn(broker.name, self._scrape(broker))
            scraped[broker.name] = ScrapedSamples(samples_in(text))
        places = [place for place, _ in self._assignments()]
        expected = {
            "pybroker_ready": len(scraped),
            "kafka_controller_kafkacontroller_activecontrollercount": 1,
            "kafka_controller_kafkacontroller_offlinepartitionscount": 0,
            "kafka_server_replicamanager_leadercount": len(places),
            "kafka_server_replicamanager_underreplicatedpartitions": 0,
            "kafka_server_replicamanager_partitioncount": sum(len(replicas) for _, replicas in self._assignments()),
        }
        for name, value in expected.items():
            told = sum(each.value(name) for each in scraped.values())
            if told != value:
                raise ViolationError(f"{name} is {told} for the whole cluster, not {value}")
        ends: Counter[tuple[str, int]] = Counter()
        for each in scraped.values():
            for labels, end in each.by_labels("kafka_topic_partition_current_offset").items():
                place = dict(labels)
                ends[place["topic"], int(place["partition"])] += int(end)
        if ends != self._ends():
            raise ViolationError(f"the metrics say that partitions end at {dict(ends)}, not {self._ends()}")


def _lags_of(broker: SimulatedBroker) -> list[PartitionLag]:
    lags = None if broker.server is None else broker.server.observability.lags
    return [] if lags is None else [each for group in lags.groups() for each in lags.of(group).partitions]
