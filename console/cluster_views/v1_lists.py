"""The lists of topics and groups that pybrokers tell under /v1, by name, for all sessions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .group_views import GROUP_FILLED_BY_V1
from .kept import Kept
from .topic_views import FILLED_BY_V1
from .v1_client import V1Client

_MOST = "100000"
Shrink = Callable[[dict[str, Any]], Any]


@dataclass(frozen=True, slots=True)
class V1List:
    """`brokers`: how many have told. `rows`: the rows of each name, one a broker."""

    brokers: int
    rows: Mapping[str, Sequence[Mapping[str, Any]]]
    is_loading: bool


class V1Lists:
    """The lists of a console. A session may see only rows whose names Kafka's protocol tells its principal."""

    def __init__(self, client: V1Client) -> None:
        self._client = client
        self.topics = Kept(lambda: self._ask("/v1/topics", "topic", FILLED_BY_V1))
        self.groups = Kept(lambda: self._ask("/v1/groups", "group", GROUP_FILLED_BY_V1))

    def __bool__(self) -> bool:
        return bool(self._client)

    def close(self) -> None:
        """Forget the lists for good."""
        self.topics.close()
        self.groups.close()

    async def _ask(self, path: str, name: str, fields: Sequence[str]) -> V1List:
        documents = await self._client.shrunk(path, {"limit": _MOST}, _shrink(name, fields))
        rows: dict[str, list[Mapping[str, Any]]] = {}
        for document in documents:
            for item in document.get("items", ()):
                rows.setdefault(item.get(name), []).append(item)
        return V1List(len(documents), rows, any(each.get("is_loading") for each in documents))


def _shrink(key: str, fields: Sequence[str]) -> Shrink:
    """Keeps the name of a row and the given fields, and equal values once. Other objects stay as they are."""
    shared: dict[Any, Any] = {}

    def shrink(found: dict[str, Any]) -> dict[str, Any]:
        if key not in found:
            return found
        kept = {name: shared.setdefault(value, value) for name in fields if (value := found.get(name)) is not None}
        return {key: found[key], **kept}

    return shrink
