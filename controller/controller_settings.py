"""The settings of a controller."""

from collections.abc import Callable, Mapping
from dataclasses import field

from ..base.frozen import frozen
from ..config.config import Config
from ..config.versions import is_at_least
from .features import LAST_LEVELS, TRANSACTION_VERSION
from .leader_balance import LeaderBalance

__all__ = ["ControllerSettings"]

_FIRST_VERSION_WITH_RECOVERY = "3.2-IV0"


@frozen(kw_only=True)
class ControllerSettings:
    """One value for the whole life of a `Controller`.

    Attributes:
        broker_id: the broker that this controller runs on.
        inter_broker_listener: the listener by which brokers reach each other.
        protocol_version: ``inter.broker.protocol.version``.
        unclean_by_default: whether topics without a setting of their own allow unclean leader election, now.
        delete_topic_enable: False: topics that are marked for deletion are kept.
        leader_balance: None: leaderships stay where they are.
        levels_of_new: the levels of features in a new metadata store.
    """

    broker_id: int
    inter_broker_listener: str
    protocol_version: str
    unclean_by_default: Callable[[], bool]
    delete_topic_enable: bool
    leader_balance: LeaderBalance | None = None
    levels_of_new: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def from_config(
        cls, broker_id: int, config: Config, unclean_by_default: Callable[[], bool]
    ) -> "ControllerSettings":
        """``unclean_by_default`` is a function because that setting can change while the broker runs."""
        return cls(
            broker_id=broker_id,
            inter_broker_listener=config.inter_broker_listener_name,
            protocol_version=config.string("inter.broker.protocol.version"),
            unclean_by_default=unclean_by_default,
            delete_topic_enable=config.boolean("delete.topic.enable"),
            leader_balance=_leader_balance(config),
            levels_of_new={TRANSACTION_VERSION: LAST_LEVELS[TRANSACTION_VERSION]} if config.uses_embedded_store else {},
        )

    @property
    def marks_recovery(self) -> bool:
        """Whether a partition's state says that its leader was elected uncleanly (from protocol version 3.2 on)."""
        return is_at_least(self.protocol_version, _FIRST_VERSION_WITH_RECOVERY)


def _leader_balance(config: Config) -> LeaderBalance | None:
    """None for a broker without a cluster, which leads every partition."""
    if config.uses_embedded_store or not config.boolean("auto.leader.rebalance.enable"):
        return None
    return LeaderBalance(
        config.int("leader.imbalance.check.interval.seconds"), config.int("leader.imbalance.per.broker.percentage")
    )
