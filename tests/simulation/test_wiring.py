"""A simulated broker is wired by the code that wires a real one; it differs in what `Environment` names, in no more."""

import ast
from dataclasses import fields
from pathlib import Path
from random import Random

from pybroker.broker.environment import Environment
from pybroker.broker.server import BrokerServer
from simulation.model_zookeeper import ModelZooKeeper
from simulation.network import Network
from simulation.simulated_broker import SimulatedBroker
from simulation.simulated_files import SimulatedFiles
from simulation.virtual_loop import VirtualLoop

HERE = Path(__file__).parent
REPLACED = {
    "clock_ms": "clock",
    "stopwatch_s": "clock",
    "random": "chance",
    "new_uuid": "chance",
    "files": "files",
    "start_pool": "loop",
    "start_compaction": "loop",
    "new_sender": "transport",
    "open_store": "store",
}
PARTS_OF_MISTAKES = {"mistakes.py"}


def a_broker() -> SimulatedBroker:
    loop = VirtualLoop()
    network = Network(loop, Random(1))
    return SimulatedBroker(1, network, ModelZooKeeper(loop, Random(1), lambda: 0), {}, Random(1))


def test_all_that_the_environment_names_is_replaced_and_nothing_else() -> None:
    assert {field.name for field in fields(Environment)} == set(REPLACED)
    broker = a_broker()
    real, simulated = Environment(), broker.environment(SimulatedFiles(broker.disk))
    same = [name for name in REPLACED if getattr(real, name) is getattr(simulated, name)]
    assert same == []
    broker.network.loop.close()


def test_a_simulated_broker_is_the_class_that_production_runs() -> None:
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


def test_nothing_of_the_broker_is_patched_but_by_mistakes() -> None:
    """Neither by `mock` nor by an assignment to what was imported from it."""
    for path in sorted(HERE.glob("*.py")):
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
