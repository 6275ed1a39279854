"""Fields of valid requests that the controller and the brokers send to each other, each for a topic of its own."""

from collections.abc import Callable
from typing import Any

from support.load.scene import Scene

__all__ = ["Fields", "leads", "live_brokers", "shrinks_isr", "stops"]

Fields = Callable[[Scene], dict[str, Any]]


def _order(topic: str, **fields: Any) -> list[dict[str, Any]]:
    return [{"topic_name": topic, "partition_states": [{"partition_index": 0, **fields}]}]


def leads(topic: str, leader_epoch: int, *, is_new: bool) -> Fields:
    """LeaderAndIsr by which the broker leads the partition alone."""

    def fields(scene: Scene) -> dict[str, Any]:
        state = {
            "controller_epoch": scene.epochs.controller, "leader": scene.other, "leader_epoch": leader_epoch,
            "isr": [scene.other], "partition_epoch": leader_epoch, "replicas": [scene.other], "is_new": is_new,
        }  # fmt: skip
        return {**scene.epochs.to_broker(scene.other), "topic_states": _order(topic, **state)}

    return fields


def stops(*, delete: bool) -> Fields:
    """StopReplica with the first leader epoch."""
    return lambda scene: {
        **scene.epochs.to_broker(scene.other),
        "topic_states": _order("stopped", leader_epoch=0, delete_partition=delete),
    }


def live_brokers(scene: Scene) -> dict[str, Any]:
    """UpdateMetadata without partitions."""
    brokers = [
        {"id": broker_id, "endpoints": [{"host": host, "port": port, "listener": "PLAINTEXT", "security_protocol": 0}]}
        for broker_id, (host, port) in scene.addresses.items()
    ]
    return {**scene.epochs.to_broker(scene.other), "live_brokers": brokers}


def shrinks_isr(scene: Scene) -> dict[str, Any]:
    """AlterPartition of the leader, which had no other leader epoch and ISR yet."""
    partition = {"partition_index": 0, "leader_epoch": 0, "partition_epoch": 0, "new_isr": [scene.other]}
    return {**scene.epochs.of_broker(scene.other), "topics": [{"topic_name": "shrunk", "partitions": [partition]}]}
