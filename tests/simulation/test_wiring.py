"""Tests that a simulated broker is built by production code and differs only in the fields of `Environment`."""

import ast
import inspect
import os
import subprocess
import sys
import types
from collections.abc import Awaitable, Callable
from dataclasses import fields
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pybroker
import pytest
from pybroker.broker.environment import Environment
from pybroker.broker.server import BrokerServer
from pybroker.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pybroker.protocol.records.builder import build_batch
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.walk import Record
from pybroker.storage.inline_limits import DEFAULT_INLINE_BYTES
from pybroker.storage.log import append_validation
from pybroker.storage.workers.unpacking import all_read_in_this_process
from simulation.clients.admin import Admin
from simulation.machines.cluster_shape import ClusterShape
from simulation.machines.held_parts import foreign_parts, shadowed_methods
from simulation.machines.model_zookeeper import ModelZooKeeper
from simulation.machines.network import Network
from simulation.machines.simulated_broker import SimulatedBroker
from simulation.machines.simulated_cluster import SimulatedCluster
from simulation.machines.simulated_files import SimulatedFiles
from simulation.machines.virtual_loop import VirtualLoop
from simulation.runs.simulation_run import Plan, run_seed

HERE = Path(__file__).parent
REPLACED = {
    "clock_ms": "clock",
    "stopwatch_s": "clock",
    "work_time_s": "clock",
    "random": "chance",
    "new_uuid": "chance",
    "files": "files",
    "start_pool": "loop",
    "start_compaction": "loop",
    "new_sender": "transport",
    "paced_by": "transport",
    "open_store": "store",
}
PARTS_OF_MISTAKES = {
    "group_mistakes.py",
    "lock_watch.py",
    "log_mistakes.py",
    "mistakes.py",
    "seams.py",
    "share_mistakes.py",
    "share_run.py",
    "state_history.py",
    "stream_watch.py",
    "transaction_mistakes.py",
    "transaction_run.py",
    "watched_run.py",
}
"""`seams.py` and `transaction_run.py` patch methods to watch them, and to cause a fault before or after them.
`lock_watch.py`, `state_history.py` and `stream_watch.py` only watch. `share_run.py` has states of deleted topics
deleted sooner. `watched_run.py` makes brokers watch themselves as they do only with an HTTP endpoint, on the clock of
the simulation."""

HELD = {
    "simulation.machines.model_store.ModelStore": "store",
    "simulation.machines.network.VirtualServer": "transport",
    "simulation.machines.region_copier.RegionCopier": "transport",
    "simulation.machines.simulated_broker.SimulatedBroker.clock_ms": "clock",
    "simulation.machines.simulated_broker.SimulatedBroker.environment.<locals>.<lambda>": "clock, chance, loop",
    "simulation.machines.simulated_broker.SimulatedBroker.environment.<locals>.open_store": "store",
    "simulation.machines.simulated_broker.SimulatedBroker.environment.<locals>.start_pool": "loop",
    "simulation.machines.simulated_files.SimulatedFile": "files",
    "simulation.machines.simulated_files.SimulatedFiles": "files",
    "simulation.machines.simulated_files._Lock": "files",
    "simulation.machines.simulated_pool.InlineCompaction": "loop",
    "simulation.machines.simulated_pool.SimulatedPool": "loop",
    "simulation.machines.simulated_pool.SimulatedPool.close": "loop",
    "simulation.machines.simulated_pool.SimulatedPool.kill": "loop",
    "simulation.machines.simulated_pool.SimulatedPool.submit": "loop",
    "simulation.machines.transport.VirtualTransport": "transport",
    "simulation.machines.virtual_loop.VirtualLoop": "loop",
    "simulation.machines.virtual_loop.VirtualLoop.time": "loop",
}
"""All simulated objects that a broker holds or is given, with the part of the environment that each replaces."""

WORLD = (
    "datetime",
    "multiprocessing",
    "random",
    "secrets",
    "select",
    "signal",
    "socket",
    "subprocess",
    "threading",
    "time",
)
WORLDLY_NAMES = ("getrandom", "urandom", "uuid1", "uuid4")
HARMLESS = {
    "random.Random",  # a type; the caller provides the seed
    "threading.Condition",
    "threading.Event",
    "threading.Lock",
    "threading.RLock",
    "threading.local",
    "socket.SOCK_STREAM",
    "socket.SOL_SOCKET",
    "socket.SO_ACCEPTCONN",
    "socket.SO_LINGER",
    "socket.SO_RCVBUF",
    "socket.SO_SNDBUF",
    "socket.IPPROTO_TCP",
    "select.POLLERR",
    "select.POLLHUP",
    "select.POLLRDHUP",
}
"""Names that neither tell the time, nor are random, nor act on the world. (Socket options are set by the transport.)"""

REPLACED_MODULES = {
    "broker/environment.py",
    "storage/compaction/cleaner_child.py",
    "storage/workers/worker_pool.py",
    # where a task waits for a child: replaced by `all_read_in_this_process`
    "storage/workers/big_batches.py",
    # only for big batches and recovery of 64 MiB and more (`recover_ahead`), not in a simulation
    "storage/workers/child_process.py",
}
"""Modules whose parts the environment replaces in a simulation, and processes that it never starts."""

IN_A_SIMULATED_BROKER = {
    "broker/network/socket_states.py": {"select.poll"},  # for descriptors, which a simulation does not have
    "broker/network/listener.py": {"time.perf_counter", "time.thread_time"},  # replaced defaults
    "broker/network/local_socket_options.py": {"socket.socket"},  # in `congestion_control_that_paces`, a default
    "broker/network/settings.py": {
        "socket.getaddrinfo",
        "time.monotonic",
    },  # for limits by host name, not set here
    "broker/metadata/registered_endpoints.py": {"socket.gethostname"},  # for a listener without a host
    "broker/metrics/process_samples.py": {"time.process_time"},  # only for the HTTP endpoint, which is closed here
    "broker/metrics/connection_samples.py": {"time.perf_counter"},  # the same
    "broker/metrics/exposition.py": {"time.perf_counter"},  # the same
    "broker/requests/request_times.py": {"time.perf_counter"},  # the same
    "broker/v1/slices.py": {"time.perf_counter"},  # the same
    "broker/requests/loop_watch.py": {"time.perf_counter", "time.thread_time"},  # the same
    "broker/settings/password_encoder.py": {"urandom"},  # only with password.encoder.secret, not set here
    "storage/log/inline_append.py": {"time.perf_counter"},  # a default
    "storage/store/log_store.py": {"time.perf_counter"},  # a default
    "storage/log/retention_rules.py": {"datetime.UTC", "datetime.datetime"},  # only formats a time
    "storage/compaction/segment_cleaner.py": {"time.monotonic", "time.sleep"},  # defaults
    "storage/workers/unpacking.py": {"time.sleep"},  # of zero length, to yield to other threads
}
"""The remaining uses by file, with the reason why each makes no difference."""


NOTHING_OUTSIDE = ("scram_users", "opens_default_http", "test_clock", "timed_by")
"""Fields that are plain values, or functions that touch nothing outside, which every run may share. A simulation needs
no ``test_clock``."""


def a_broker() -> SimulatedBroker:
    loop = VirtualLoop()
    network = Network(loop, Random(1))
    return SimulatedBroker(1, network, ModelZooKeeper(loop, Random(1), lambda: 0), {}, Random(1))


def test_simulation_replaces_every_field_of_the_environment_and_nothing_else() -> None:
    assert {field.name for field in fields(Environment)} == {*REPLACED, *NOTHING_OUTSIDE}
    broker = a_broker()
    real, simulated = Environment(), broker.environment(SimulatedFiles(broker.disk))
    same = [name for name in REPLACED if getattr(real, name) is getattr(simulated, name)]
    assert same == []
    broker.network.loop.close()


def test_simulated_broker_runs_the_production_server_class() -> None:
    broker = a_broker()
    loop = broker.network.loop

    async def started() -> object:
        await broker.start()
        return broker.server

    server = loop.run_until_complete(started())
    assert type(server) is BrokerServer
    assert broker.is_running
    loop.run_until_complete(broker.stop())
    loop.close()


_MODULES = """
import sys
from simulation.runs.simulation_run import run_seed
assert run_seed(3).violation is None
print(*(module.__file__ for name, module in sys.modules.items() if name.startswith("pybroker.")), sep="\\n")
"""


def test_broker_uses_clocks_randomness_and_system_only_through_its_environment() -> None:
    """A use that a simulation does not replace would make a simulated broker differ from a real one."""
    root = Path(pybroker.__path__[0]).resolve()
    python_path = os.pathsep.join([str(HERE.parent), *sys.path])
    modules = subprocess.run(
        [sys.executable, "-c", _MODULES],
        env={**os.environ, "PYTHONPATH": python_path},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    found = {}
    for path in sorted(Path(module).resolve() for module in modules):
        name = path.relative_to(root).as_posix()
        if name not in REPLACED_MODULES and path.suffix == ".py":
            used = used_of_the_world(ast.parse(path.read_text())) - HARMLESS
            found.update({name: used} if used else {})
    assert len(modules) > 100
    assert found == IN_A_SIMULATED_BROKER


def used_of_the_world(tree: ast.AST) -> set[str]:
    """Names such as ``time.sleep``, however they were imported."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update({each.asname or each.name: each.name for each in node.names if each.name in WORLD})
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module in (*WORLD, "os", "uuid"):
            names.update({each.asname or each.name: f"{node.module}.{each.name}" for each in node.names})
    used = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = names.get(node.value.id)
            if module in WORLD:
                used.add(f"{module}.{node.attr}")
            elif node.attr in WORLDLY_NAMES:
                used.add(node.attr)
        elif isinstance(node, ast.Name) and "." in names.get(node.id, ""):
            module, _, what = names[node.id].partition(".")
            if module in WORLD or what in WORLDLY_NAMES:
                used.add(names[node.id])
    return used


def test_uses_of_clocks_and_randomness_are_found_however_they_are_imported() -> None:
    source = """
import time as clock
from random import choice, Random
from uuid import UUID, uuid4
import os
def f(random: Random):
    return clock.time(), choice([1]), uuid4(), os.urandom(3), os.path
"""
    used = used_of_the_world(ast.parse(source))
    assert used == {"time.time", "random.choice", "random.Random", "uuid.uuid4", "urandom"}


def test_large_decompressed_batch_is_read_without_a_child_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(append_validation, "run_big_batch", _no_other_process)
    cluster = SimulatedCluster(1, Random(1), {"pybroker.record.validation": "full"})
    value = bytes(DEFAULT_INLINE_BYTES + 1)
    records = build_batch([Record(0, 1_700_000_000_000, None, value)], codec=Codec.GZIP)

    async def work() -> int:
        cluster.start(cluster.brokers[1])
        assert await cluster.until(lambda: len(cluster.running()) == 1, 30)
        client = cluster.client("client")
        await client.refresh()
        assert await Admin(client).create("t", [[1]], {"max.message.bytes": str(2 * DEFAULT_INLINE_BYTES)})
        assert await cluster.until(lambda: len(cluster.brokers[1].partitions()) == 1, 10)
        data = [TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=records)])]
        answer = await client.ask(1, ProduceRequest(acks=1, timeout_ms=1000, topic_data=data), 9)
        return int(answer.responses[0].partition_responses[0].error_code)

    with all_read_in_this_process():
        assert cluster.loop.run_until_complete(cluster.spawn("client", work())) == 0
    cluster.end()


def _no_other_process(*arguments: object) -> object:
    raise AssertionError("there is no other process in a simulation")


def look_at_brokers(look: Callable[[BrokerServer], None]) -> None:
    """Call `look` with three brokers in the middle of their work."""
    plan = Plan(3, duration_s=8.0, fault_count=0, shape=ClusterShape(log_directories=2))
    seen = []

    def look_at_all(cluster: SimulatedCluster) -> None:
        for broker in cluster.running():
            assert broker.server is not None
            look(broker.server)
            seen.append(broker.name)

    result = run_seed(3, plan, lambda cluster: (cluster.loop.call_later(5.0, look_at_all, cluster), None)[1])
    assert result.violation is None
    assert len(seen) == 3


def test_simulated_objects_a_broker_holds_replace_only_clocks_files_and_network(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The broker's own parts and methods are not replaced either."""
    found: dict[str, str] = {}
    shadowed: list[str] = []

    def look(server: BrokerServer) -> None:
        found.update(foreign_parts(server))
        shadowed.extend(shadowed_methods(server))

    look_at_brokers(look)
    given = set(found)
    look_at_what_is_given(monkeypatch, lambda part: given.update(foreign_parts(part)))
    assert {name for name in given if not _is_pythons(name)} == HELD.keys()
    assert {path for path in shadowed if not path.startswith("BrokerServer._environment.")} == set()


def look_at_what_is_given(monkeypatch: pytest.MonkeyPatch, look: Callable[[object], None]) -> None:
    """Call `look` with everything that an environment makes, including objects that the broker drops again."""
    make = SimulatedBroker.environment

    def telling(broker: SimulatedBroker, files: SimulatedFiles) -> Environment:
        environment = make(broker, files)
        for each in fields(environment):
            part = getattr(environment, each.name)
            look(part)
            if isinstance(part, types.FunctionType):
                setattr(environment, each.name, partial(_giving, part, look))
        return environment

    with monkeypatch.context() as patched:
        patched.setattr(SimulatedBroker, "environment", telling)
        look_at_brokers(lambda server: None)


def _giving(give: Callable[..., Any], look: Callable[[object], None], *arguments: object) -> object:
    given = give(*arguments)
    if inspect.isawaitable(given):
        return _given_later(given, look)
    look(given)
    return given


async def _given_later(awaited: Awaitable[object], look: Callable[[object], None]) -> object:
    given = await awaited
    look(given)
    return given


def _is_pythons(name: str) -> bool:
    return name.partition(".")[0] in sys.stdlib_module_names


def test_foreign_objects_and_replaced_methods_in_a_broker_are_found() -> None:
    """However deep it is, and however it was put there."""

    class Other:
        pass

    found: dict[str, str] = {}
    shadowed: list[str] = []

    def look(server: BrokerServer) -> None:
        hosted = next(iter(server._partitions))
        strand, hosted.strand = hosted.strand, Other()  # type: ignore[assignment]
        setattr(hosted.partition.log, "append_as_follower", lambda *arguments: None)  # noqa: B010
        found.update(foreign_parts(server))
        shadowed.extend(shadowed_methods(server))
        hosted.strand = strand
        vars(hosted.partition.log).pop("append_as_follower")

    look_at_brokers(look)
    assert [name for name in found if name.endswith(".Other")]
    assert [path for path in shadowed if path.endswith(".append_as_follower")]


def names_of_production() -> dict[str, int]:
    """The identity of the object behind each name in the broker's modules and classes."""
    names = {}
    for module_name, module in list(sys.modules.items()):
        if module_name.startswith("pybroker.") and "." in module_name:
            for name, value in list(vars(module).items()):
                names[f"{module_name}.{name}"] = id(value)
                if isinstance(value, type) and value.__module__ == module_name:
                    parts = vars(value).items()
                    names.update({f"{module_name}.{name}.{part}": id(each) for part, each in parts})
    return names


def test_simulation_replaces_no_name_of_the_broker() -> None:
    """However the name is changed; except the switch for reading without child processes."""
    look_at_brokers(lambda server: None)  # now all modules are imported and all caches are filled
    before, during = names_of_production(), {}
    look_at_brokers(lambda server: during.update(names_of_production()))
    assert {name for name, value in before.items() if during[name] != value} <= SWITCHES


SWITCHES = {"pybroker.storage.workers.unpacking._reads_every_batch"}


def test_only_deliberate_mistakes_patch_the_broker() -> None:
    """Neither with `mock` nor by assignment to imported names."""
    for path in sorted(HERE.rglob("*.py")):
        if path.name in PARTS_OF_MISTAKES or path.name.startswith("test_"):
            continue
        tree = ast.parse(path.read_text())
        imported = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pybroker")
            for alias in node.names
        }
        assert "mock" not in path.read_text(), path
        for node in ast.walk(tree):
            for target in getattr(node, "targets", []):
                while isinstance(target, ast.Attribute):
                    target = target.value
                    assert not (isinstance(target, ast.Name) and target.id in imported), f"{path}: {ast.unparse(node)}"
