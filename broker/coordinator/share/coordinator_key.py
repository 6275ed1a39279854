"""The key of a share partition in FindCoordinator: ``groupId:topicId:partition``. It decides who its coordinator is."""

import re

from ....base.uuid_text import uuid_text
from .ports import SharePartitionKey

__all__ = ["coordinator_key", "is_coordinator_key"]

_FORM = re.compile(r"(.*):[A-Za-z0-9_-]{22}:[0-9]{1,10}", re.DOTALL)


def coordinator_key(key: SharePartitionKey) -> str:
    return f"{key.group_id}:{uuid_text(key.topic_id)}:{key.partition}"


def is_coordinator_key(text: str) -> bool:
    """Whether the text names a share partition. The group id may have colons, but must not be blank."""
    found = _FORM.fullmatch(text)
    return found is not None and bool(found[1].strip())
