"""The state of each broker of a cluster, for the report on a failed test."""

from collections.abc import Callable
from typing import TypeVar

from ..broker.apis.broker_parts import BrokerParts
from ..broker.library.cluster.blocking_cluster import BlockingCluster
from ..broker.library.inspection.overview import group_lines, joined_topic_lines, led_partitions
from .failure_report import Section, last_lines

__all__ = ["sections_of_cluster"]

Answer = TypeVar("Answer")

_LIMIT_S = 2.0


def sections_of_cluster(cluster: BlockingCluster, since_ms: int) -> list[Section]:
    """The brokers, each partition's offsets from its leader, the groups of each coordinator, and the last requests.

    ``since_ms`` (wall clock): earlier requests are left out. Brokers in processes show their output in place of these.
    """
    if cluster.mode == "process":
        states = [f"broker {id_} {'runs' if cluster.is_running(id_) else 'does not run'}" for id_ in cluster.broker_ids]
        outputs = [(f"output of broker {id_}", last_lines(cluster.log_file(id_))) for id_ in cluster.broker_ids]
        return [("brokers", states), *outputs]
    states, partitions, sections = [], [], []
    for id_ in cluster.broker_ids:
        found, state = _asked(cluster, id_, lambda parts: (led_partitions(parts), group_lines(parts)))
        states.append(state)
        if found is not None:
            partitions.append(found[0])
            sections.append((f"groups of broker {id_}", found[1]))
        ring = cluster.thread_broker(id_).requests
        if ring is not None:
            sections.append((f"last requests of broker {id_}", ring.lines(since_ms)))
    return [("brokers", states), ("topics", joined_topic_lines(partitions)), *sections]


def _asked(
    cluster: BlockingCluster, broker: int, question: Callable[[BrokerParts], Answer]
) -> tuple[Answer | None, str]:
    """The reply of a broker, and the state of the broker in words."""
    try:
        return cluster.thread_broker(broker).ask(question, _LIMIT_S), f"broker {broker} runs"
    except TimeoutError:
        return None, f"broker {broker} did not answer within {_LIMIT_S:g} s"
    except Exception as error:
        return None, str(error)
