"""The cluster to which `request_of_each_api` sends its requests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

__all__ = ["Epochs", "Member", "Scene"]


@dataclass(frozen=True)
class Member:
    """A member of a group. Without an id it has not joined."""

    group: str
    member_id: str = "m"
    generation_id: int = 1


@dataclass(frozen=True)
class Epochs:
    """The epochs of the controller whose requests the brokers accept, and of the running brokers."""

    controller: int = 0
    brokers: Mapping[int, int] = field(default_factory=dict)

    def to_broker(self, broker_id: int) -> dict[str, int]:
        """The fields of a request of the controller to this broker."""
        return {
            "controller_id": 1,
            "controller_epoch": self.controller,
            "broker_epoch": self.brokers.get(broker_id, -1),
        }

    def of_broker(self, broker_id: int) -> dict[str, int]:
        """The fields of a request of this broker to the controller."""
        return {"broker_id": broker_id, "broker_epoch": self.brokers.get(broker_id, -1)}


@dataclass(frozen=True)
class Scene:
    """The cluster that is asked.

    Attributes:
        controller: the broker that is controller, or broker 2 if that one does not run.
        other: a running broker that is not the controller; leads partition 0 of every topic and coordinates all groups.
        group: a group of consumers.
        transactional_id: its coordinator runs, if there is one.
        log_directories: of `other`; the first has the topic `described`.
        addresses: of all brokers.
        joined: the only member of its group; it has no assignment yet.
        stable: the only member of its group; it has its assignment.
    """

    controller: int
    other: int
    group: str
    log_directories: tuple[str, str] = ("/1", "/2")
    epochs: Epochs = Epochs()
    addresses: Mapping[int, tuple[str, int]] = field(default_factory=dict)
    transactional_id: str = "t"
    joined: Member = Member("joined")
    stable: Member = Member("stable")

    TOPICS: ClassVar[tuple[str, ...]] = (
        "records", "trimmed", "deleted", "grown", "moved", "elected", "described", "altered", "led",
        "ordered", "stopped", "shrunk",
    )  # fmt: skip
    """Topics with a replica on each broker. The preferred leader of `led` is broker 1, of the others `other`."""
    SINGLE: ClassVar[str] = "only-on-other"
    LEAVING: ClassVar[int] = 3
    """The broker that announces its stop."""
