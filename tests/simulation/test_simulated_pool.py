"""Tests of the workers of a simulated machine: the time that their work takes, and its completion."""

import asyncio
from random import Random

from simulation.machines.disk import Disk
from simulation.machines.simulated_files import SimulatedFiles
from simulation.machines.simulated_pool import SimulatedPool
from simulation.machines.virtual_loop import VirtualLoop


def test_work_delayed_by_a_slow_disk_completes_when_the_disk_recovers() -> None:
    loop, disk = VirtualLoop(), Disk(Random(1))
    pool = SimulatedPool(loop, 2, Random(1), SimulatedFiles(disk, lambda: 0))
    posted: list[tuple[str, float]] = []

    def work(name: str, seconds: float) -> None:
        disk.spent_s += seconds
        pool.post(lambda: posted.append((name, loop.time())))

    for name, seconds in (("longest", 50.0), ("long", 20.0), ("after them", 0.0)):
        pool.submit(lambda name=name, seconds=seconds: work(name, seconds))  # type: ignore[misc]
    loop.run_until_complete(asyncio.sleep(1.0))
    assert posted == []
    pool.hurry()
    pool.hurry()
    loop.run_until_complete(asyncio.sleep(1.0))
    assert [name for name, _ in posted] == ["long", "longest", "after them"]
    assert all(when_s < 1.1 for _, when_s in posted)
    loop.run_until_complete(asyncio.sleep(60.0))
    assert len(posted) == 3
    loop.close()
