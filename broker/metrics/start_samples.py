"""Samples of the broker's state and of its start: there before the logs are recovered."""

from collections.abc import Iterator
from typing import Protocol

from ...storage.store.log_store import LogStore
from .labels import labels
from .registry import Registry, Sample
from .series.table import series_named

__all__ = ["add_start_samples"]

# Kafka's BrokerState.
_STARTING, _RECOVERY, _RUNNING, _SHUTTING_DOWN = 1, 2, 3, 7


class LifecycleState(Protocol):
    """The part of `Lifecycle` that is asked."""

    @property
    def is_running(self) -> bool: ...
    @property
    def is_ending(self) -> bool: ...


def add_start_samples(registry: Registry, lifecycle: LifecycleState, logs: LogStore) -> None:
    def state() -> int:
        if lifecycle.is_ending:
            return _SHUTTING_DOWN
        if lifecycle.is_running:
            return _RUNNING
        return _STARTING if logs.recovered_share() is None else _RECOVERY

    def remaining() -> Iterator[Sample]:
        for path, number in list(logs.logs_to_load.items()):
            yield labels(dir=path), number

    def progress() -> float:
        """Complete, unless a recovery is under way."""
        share = logs.recovered_share()
        return 1.0 if share is None else share

    registry.add_value(series_named("kafka_server_kafkaserver_brokerstate"), state)
    registry.add(series_named("kafka_log_logmanager_remaininglogstorecover"), remaining)
    registry.add_value(series_named("pybroker_recovery_progress_ratio"), progress)
