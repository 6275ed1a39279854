"""A store over three log directories, with a log that moves between them step by step."""

import os
import uuid
from pathlib import Path

from pybroker.base.topic_partition import TopicPartition
from pybroker.config.dynamic_layers import DynamicLayers
from pybroker.config.load import load_config, with_dynamic
from pybroker.storage.files.files import Files
from pybroker.storage.log.log import Log
from pybroker.storage.store.log_store import LogStore
from support.logs.storage_logs import append_as_leader
from support.logs.storage_pools import InlinePool

from .storage_logs import NOW_MS, batch_of
from .storage_pools import HeldRunner

TP = TopicPartition("topic", 0)
TOPIC_ID = uuid.UUID(int=5)
RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
ALL_AT_A = {"a": ["0"], "b": [], "c": []}
ALL_AT_B = {"a": [], "b": ["0"], "c": []}
UNDER_WAY = {"a": ["0"], "b": ["future"], "c": []}


class Disks:
    """A store over three directories, whose moves copy one batch, then wait for the throttle."""

    def __init__(self, root: Path, files: Files | None = None, **overrides: str) -> None:
        self.paths = [str(root / name) for name in "abc"]
        self.runner = HeldRunner(NOW_MS, step_ms=1 << 30)
        given = {name.replace("_", "."): value for name, value in overrides.items()}
        base = load_config(f"log.dirs={','.join(self.paths)}\nfile.delete.delay.ms=0\n", given)
        self.store = LogStore.open(
            with_dynamic(base, DynamicLayers({RATE: "1"})),
            files or Files(),
            InlinePool(),
            lambda: self.runner.now_ms,
            broker_id=1,
            cluster_id="cluster",
        )
        self.store.moves.start(self.runner)

    def make(self, records: int = 0) -> Log:
        log = self.store.get_or_create(TP, is_new=True, topic_id=TOPIC_ID)
        log.assign_epoch_start(0)
        for number in range(records):
            append_as_leader(log, batch_of(str(number)), 0, NOW_MS)
        return log

    def log(self) -> Log:
        log = self.store.get(TP)
        assert log is not None
        return log

    def directories(self) -> dict[str, list[str]]:
        """The kinds of partition directories in each log directory."""
        return {
            path[-1]: sorted(name.rpartition("-")[2] for name in os.listdir(path) if name.startswith("topic-0"))
            for path in self.paths
        }

    def delete(self) -> None:
        self.store.deletion.delete_log(TP)

    def kill(self) -> None:
        self.store.release()
