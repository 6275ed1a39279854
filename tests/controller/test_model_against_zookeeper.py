"""The model of ZooKeeper gives the same results, stats and events as a real ZooKeeper."""

import asyncio
from itertools import count
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pybroker.controller.tree.metadata_store import (
    Check,
    Create,
    Delete,
    MetadataStore,
    MetadataStoreError,
    Operation,
    SetData,
    SetDataResult,
    Stat,
)
from pybroker.controller.tree.zookeeper_settings import ZooKeeperSettings
from pybroker.controller.tree.zookeeper_store import ZooKeeperStore
from simulation.machines.model_zookeeper import ModelZooKeeper
from support.examples import examples
from support.in_process.metadata_store_suite import Watcher
from support.processes.kafka_process import ZooKeeperProcess

ROOTS = count()
PATHS = st.sampled_from(["/a", "/b", "/a/x", "/a/y", "/a/x/deep", "/b/x"])
VERSIONS = st.integers(-1, 2)
WRITES = st.one_of(
    st.builds(Create, PATHS, st.binary(max_size=2), st.booleans(), st.booleans()),
    st.builds(SetData, PATHS, st.binary(max_size=2), VERSIONS),
    st.builds(Delete, PATHS, VERSIONS),
)
MULTIS = st.lists(st.one_of(WRITES, st.builds(Check, PATHS, VERSIONS)), max_size=4)
READS = st.tuples(st.sampled_from(["get", "exists", "children"]), PATHS, st.booleans())
STEPS = st.lists(st.lists(st.one_of(WRITES, MULTIS, READS), min_size=1, max_size=5), max_size=12)
"""Steps of operations that are started together."""

Step = list[Operation | list[Operation] | tuple[str, str, bool]]


class Run:
    """One store's results of the steps. zxids are compared by order, sessions by whether they are the store's own."""

    def __init__(self, store: MetadataStore) -> None:
        self._store = store
        self._watcher = Watcher()
        self._zxids: set[int] = set()
        self._seen: list[object] = []

    async def of(self, steps: list[Step]) -> list[object]:
        for step in steps:
            started = [self._start(operation) for operation in step]
            outcomes = await asyncio.gather(*started, return_exceptions=True)
            for operation, outcome in zip(step, outcomes, strict=True):
                if isinstance(operation, list) and isinstance(outcome, MetadataStoreError):
                    self._seen.append(outcome.operation_index)
                self._seen.append(self._note(outcome))
            self._seen.append(self._watcher.told)
        order = {zxid: rank for rank, zxid in enumerate(sorted(self._zxids))}
        return [self._ranked(seen, order) for seen in self._seen]

    def _start(self, operation: Operation | list[Operation] | tuple[str, str, bool]) -> "asyncio.Future[object]":
        store = self._store
        match operation:
            case Create(path, data, ephemeral, sequential):
                return asyncio.ensure_future(store.create(path, data, ephemeral=ephemeral, sequential=sequential))
            case SetData(path, data, version):
                return asyncio.ensure_future(store.set(path, data, version))
            case Delete(path, version):
                return asyncio.ensure_future(store.delete(path, version))
            case list():
                return asyncio.ensure_future(store.multi(operation))
            case ("get", path, watched):
                return asyncio.ensure_future(store.get(path, self._watcher if watched else None))
            case ("exists", path, watched):
                return asyncio.ensure_future(store.exists(path, self._watcher if watched else None))
            case (_, path, watched):
                return asyncio.ensure_future(store.children(path, self._watcher if watched else None))
            case Check():
                raise AssertionError("only in a multi")

    def _note(self, outcome: object) -> object:
        match outcome:
            case MetadataStoreError():
                return type(outcome).__name__
            case Stat():
                self._zxids |= {outcome.czxid, outcome.mzxid, outcome.pzxid}
                return outcome
            case SetDataResult(stat):
                return self._note(stat)
            case (bytes() as data, Stat() as stat):
                return data, self._note(stat)
            case list():
                return [self._note(each) for each in outcome]
            case BaseException():
                raise outcome
        return outcome

    def _ranked(self, seen: object, order: dict[int, int]) -> object:
        match seen:
            case Stat():
                zxids = [order[zxid] for zxid in (seen.czxid, seen.mzxid, seen.pzxid)]
                owner = {0: "nobody", self._store.session_id: "me"}[seen.ephemeral_owner]
                counts = (seen.version, seen.cversion, seen.data_length, seen.num_children)
                return (*zxids, owner, *counts)
            case (bytes() as data, Stat() as stat):
                return data, self._ranked(stat, order)
            case list():
                return [self._ranked(each, order) for each in seen]
        return seen


@given(STEPS)
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_model_gives_the_same_results_as_zookeeper(zookeeper: ZooKeeperProcess, steps: list[Step]) -> None:
    async def both() -> tuple[list[object], list[object]]:
        model = await ModelZooKeeper(asyncio.get_running_loop(), Random(1), lambda: 5, latency_s=(0, 0)).open()
        real = await ZooKeeperStore.open(ZooKeeperSettings(zookeeper.connect, f"/{next(ROOTS)}", 10_000, 30_000))
        try:
            return await Run(model).of(steps), await Run(real).of(steps)
        finally:
            await model.close()
            await real.close()

    of_model, of_zookeeper = asyncio.run(both())
    assert of_model == of_zookeeper
