"""The nouns of the command line. Each is imported when it is used, so that none slows another down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .verb import Noun

__all__ = ["NOUNS", "LazyNoun"]


@frozen
class LazyNoun:
    """A noun that is not imported yet."""

    summary: str
    load: Callable[[], Noun]


def _bench() -> Noun:
    from .bench.noun import BENCH

    return BENCH


def _explain() -> Noun:
    from .explain.noun import EXPLAIN

    return EXPLAIN


def _doctor() -> Noun:
    from .doctor.noun import DOCTOR

    return DOCTOR


def _groups() -> Noun:
    from .groups.noun import GROUPS

    return GROUPS


def _consume() -> Noun:
    from .consume.noun import CONSUME

    return CONSUME


def _produce() -> Noun:
    from .produce.noun import PRODUCE

    return PRODUCE


def _top() -> Noun:
    from .top.noun import TOP

    return TOP


def _topics() -> Noun:
    from .topics.noun import TOPICS

    return TOPICS


def _configs() -> Noun:
    from .configs.noun import CONFIGS

    return CONFIGS


def _acls() -> Noun:
    from .acls.noun import ACLS

    return ACLS


def _users() -> Noun:
    from .users.noun import USERS

    return USERS


def _quotas() -> Noun:
    from .quotas.noun import QUOTAS

    return QUOTAS


def _cluster() -> Noun:
    from .cluster.noun import CLUSTER

    return CLUSTER


def _txns() -> Noun:
    from .txns.noun import TXNS

    return TXNS


NOUNS: Mapping[str, LazyNoun] = {
    "explain": LazyNoun(
        "say why a group is stuck, what a topic lacks, why old records are there, and whether a user may do something",
        _explain,
    ),
    "doctor": LazyNoun("check a cluster from the side of its clients, and tell how to mend it", _doctor),
    "groups": LazyNoun("show groups, their offsets and lag, and change them", _groups),
    "consume": LazyNoun("print the records of topics", _consume),
    "produce": LazyNoun("write records to a topic", _produce),
    "top": LazyNoun("show the busiest brokers and topics, and the groups that are behind", _top),
    "topics": LazyNoun("list, create, change and delete topics", _topics),
    "configs": LazyNoun("show, change and compare settings", _configs),
    "acls": LazyNoun("list, add, remove and check rights", _acls),
    "users": LazyNoun("list, add and remove SCRAM users", _users),
    "quotas": LazyNoun("list, set and remove quotas of clients", _quotas),
    "cluster": LazyNoun("check a cluster, wait for it, and move its partitions", _cluster),
    "txns": LazyNoun("list, describe and abort transactions", _txns),
    "bench": LazyNoun("measure how fast a cluster takes and gives records", _bench),
}
