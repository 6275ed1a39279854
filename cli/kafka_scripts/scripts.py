"""The scripts by name. Each is imported when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["SCRIPTS"]


def _acls(arguments: Sequence[str]) -> int:
    from .acl_command import acl_command

    return acl_command(arguments)


def _broker_api_versions(arguments: Sequence[str]) -> int:
    from .broker_api_versions_command import broker_api_versions_command

    return broker_api_versions_command(arguments)


def _configs(arguments: Sequence[str]) -> int:
    from .configs_command import configs_command

    return configs_command(arguments)


def _console_consumer(arguments: Sequence[str]) -> int:
    from .console_consumer import console_consumer

    return console_consumer(arguments)


def _console_producer(arguments: Sequence[str]) -> int:
    from .console_producer import console_producer

    return console_producer(arguments)


def _consumer_groups(arguments: Sequence[str]) -> int:
    from .consumer_groups_command import consumer_groups_command

    return consumer_groups_command(arguments)


def _delete_records(arguments: Sequence[str]) -> int:
    from .delete_records_command import delete_records_command

    return delete_records_command(arguments)


def _get_offsets(arguments: Sequence[str]) -> int:
    from .get_offsets_command import get_offsets_command

    return get_offsets_command(arguments)


def _leader_election(arguments: Sequence[str]) -> int:
    from .leader_election_command import leader_election_command

    return leader_election_command(arguments)


def _log_dirs(arguments: Sequence[str]) -> int:
    from .log_dirs_command import log_dirs_command

    return log_dirs_command(arguments)


def _reassign_partitions(arguments: Sequence[str]) -> int:
    from .reassign_command import reassign_command

    return reassign_command(arguments)


def _storage(arguments: Sequence[str]) -> int:
    from .storage_command import storage_command

    return storage_command(arguments)


def _topics(arguments: Sequence[str]) -> int:
    from .topic_command import topic_command

    return topic_command(arguments)


def _transactions(arguments: Sequence[str]) -> int:
    from .transactions_command import transactions_command

    return transactions_command(arguments)


SCRIPTS: Mapping[str, Callable[[Sequence[str]], int]] = {
    "kafka-acls": _acls,
    "kafka-broker-api-versions": _broker_api_versions,
    "kafka-configs": _configs,
    "kafka-console-consumer": _console_consumer,
    "kafka-console-producer": _console_producer,
    "kafka-consumer-groups": _consumer_groups,
    "kafka-delete-records": _delete_records,
    "kafka-get-offsets": _get_offsets,
    "kafka-leader-election": _leader_election,
    "kafka-log-dirs": _log_dirs,
    "kafka-reassign-partitions": _reassign_partitions,
    "kafka-storage": _storage,
    "kafka-topics": _topics,
    "kafka-transactions": _transactions,
}
"""Each takes the arguments after its name and returns the exit code."""
