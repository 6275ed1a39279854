"""Which requests a fault is for: an API, a client, and the names in the request."""

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any, TypedDict

from ...base.frozen import frozen
from ...protocol.apis import API_SPECS, ApiKey, ApiSpec, Listener
from ..requests.group_features import SHARE_GROUP_APIS
from .request_items import names_in
from .words import WordError, partition_word, text_word, unknown

__all__ = ["EVERY_API", "Target", "Where", "api_named"]

EVERY_API = "*"


class Where(TypedDict, total=False):
    """The choice of requests, as keyword arguments.

    ``client`` is a pattern of client ids, such as ``svc-*``. ``after``: so many matching requests pass first.
    ``times``: the fault ends when it has fired so often; None: it stays until it is removed.
    """

    topic: str | None
    partition: int | None
    group: str | None
    transactional_id: str | None
    client: str | None
    times: int | None
    after: int


@frozen
class Target:
    """``api``: None means every API. A name that is None is not compared."""

    api: ApiKey | None
    client: str | None = None
    topic: str | None = None
    partition: int | None = None
    group: str | None = None
    transactional_id: str | None = None

    @property
    def api_name(self) -> str:
        """Kafka's name of the API, or ``"*"``."""
        return EVERY_API if self.api is None else API_SPECS[self.api].name

    def may_match(self, api: int, client_id: str | None) -> bool:
        """Whether the API and the client are those of the fault; the names in the request are not known yet."""
        if self.api is not None and self.api != api:
            return False
        return self.client is None or fnmatchcase(client_id or "", self.client)

    @classmethod
    def of(cls, api: str, where: Where) -> "Target":
        """Raises ValueError with a plain line when the words name nothing, or cannot belong together."""
        key = None if api == EVERY_API else api_named(api)
        target = cls(
            key,
            _text(where, "client"),
            _text(where, "topic"),
            partition_word(where.get("partition")),
            _text(where, "group"),
            _text(where, "transactional_id"),
        )
        if target.partition is not None and target.topic is None:
            raise ValueError("partition needs a topic")
        for name in ("topic", "partition", "group", "transactional_id"):
            if getattr(target, name) is None:
                continue
            if key is None:
                raise ValueError(f"{name} needs one API, not {EVERY_API!r}")
            if name not in names_in(key):
                raise ValueError(f"{API_SPECS[key].name} requests name no {name}")
        return target


def api_named(name: str) -> ApiKey:
    """The API with Kafka's name, such as ``Fetch``. Raises ValueError with the nearest names."""
    if not isinstance(name, str):
        raise WordError("api", "a name such as Fetch", name)
    keys = {_plain(spec.name): spec.key for spec in API_SPECS.values() if _is_served(spec)}
    found = keys.get(_plain(name))
    if found is None:
        raise ValueError(unknown("API", name, {plain: API_SPECS[key].name for plain, key in keys.items()}))
    return found


_OF_KRAFT = (ApiKey.DESCRIBE_TOPIC_PARTITIONS, ApiKey.LIST_CLIENT_METRICS_RESOURCES, *SHARE_GROUP_APIS)
"""APIs of Kafka's KRaft mode that are served here, too."""


def _is_served(spec: ApiSpec) -> bool:
    return Listener.ZK_BROKER in spec.listeners or spec.key in _OF_KRAFT


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _text(where: Where, name: str) -> str | None:
    read: Callable[[str], Any] = where.get
    value = read(name)
    return None if value is None else text_word(value, name, may_be_empty=True)
