"""Says why ``produce`` ends early, what is written by then, and which setting refuses a record."""

import argparse

from ...base.command_parser import CommandError
from ...client.admin_cluster import AdminCluster
from ...protocol.errors import ErrorCode, KafkaError
from ..configs.found_settings import found_settings
from ..configs.resources import NamedResource, ResourceKind
from ..exit_codes import refusal

__all__ = ["explained"]

_LIMIT = "max.message.bytes"


def explained(
    error: CommandError | KafkaError | ConnectionError, cluster: AdminCluster, options: argparse.Namespace, written: int
) -> CommandError:
    """The line and the exit code for an error. ``written``: so many records are known to be written."""
    refused = refusal(error)
    assert refused is not None
    text = str(refused)
    if isinstance(error, KafkaError) and error.code == ErrorCode.MESSAGE_TOO_LARGE:
        text += f"; {_limit(cluster, options.topic)}"
    if options.transactional_id is not None:
        text += "; the transaction is aborted"
    else:
        text += f"; {written:,} records are written" if written != 1 else "; 1 record is written"
        text += ", perhaps more" if isinstance(error, ConnectionError) else ""
    return CommandError(text, refused.exit_code)


def _limit(cluster: AdminCluster, topic: str) -> str:
    """The setting that bounds a record, with its value if the user may see it."""
    try:
        (settings,) = found_settings(cluster, [NamedResource(ResourceKind.TOPIC, topic)], [_LIMIT]).values()
    except (KafkaError, ConnectionError):
        settings = []
    value = next((f" is {each.value}" for each in settings), "")
    return f"{_LIMIT} of the topic{value} (pybroker configs set topic/{topic} {_LIMIT}=BYTES)"
