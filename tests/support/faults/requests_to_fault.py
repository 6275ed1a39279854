"""A request of each API with at least one item, so that an error has a place in its response."""

from typing import Any

from pybroker.broker.requests.served_versions import served_versions
from pybroker.config.load import load_config
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.codec import Message
from support.in_process.rights_table import RIGHTS
from support.load.request_of_each_api import plain_request

__all__ = ["SETTINGS", "TOPICS", "request_to_fault"]

SETTINGS = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}
TOPICS = [{"name": name, "num_partitions": 2, "replication_factor": 1} for name in ("records", "other")]
"""The topics that the requests name, in fields of CreateTopics."""
FIELDS_OF_OPEN: dict[ApiKey, dict[str, Any]] = {ApiKey.CONSUMER_GROUP_DESCRIBE: {"group_ids": ["g"]}}
FIRST_VERSION = {ApiKey.DESCRIBE_LOG_DIRS: 3}
"""Earlier versions have no place for an error."""
ACCEPTED = served_versions(load_config("", SETTINGS)).accepted


def request_to_fault(key: ApiKey, newest: int | None = None) -> tuple[Message, int] | None:
    """Returns the request and its version, or None when the client's `newest` version is older than all of them."""
    accepted, rows = ACCEPTED[key], RIGHTS[key]
    first = FIRST_VERSION.get(key, accepted.first)
    last = accepted.last if newest is None else min(accepted.last, newest)
    if last < first:
        return None
    if isinstance(rows, str):
        return plain_request(key, **FIELDS_OF_OPEN.get(key, {})), last
    row = next(row for row in rows if row.version >= first)
    return plain_request(key, **row.fields), min(row.version, last)
