"""The lists of topics and groups that pybrokers tell under /v1, by name, for all sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ...base.frozen import frozen
from .group_views import GROUP_FILLED_BY_V1
from .kept import Kept
from .topic_views import FILLED_BY_V1
from .v1_client import V1Client

_MOST = "100000"
_TOPIC_COLUMNS = ("topic", *FILLED_BY_V1)
Shrink = Callable[[dict[str, Any]], Any]


@frozen
class V1List:
    """`brokers`: how many have told. `rows`: the rows of each name, one a broker."""

    brokers: int
    rows: Mapping[str, Sequence[Mapping[str, Any]]]
    is_loading: bool


class InColumns(Mapping[str, Sequence[Mapping[str, Any]]]):
    """Rows by name, each made when it is read. `rows`: values in the order of `columns`, one row a broker."""

    def __init__(self, columns: Sequence[str], rows: Mapping[str, Sequence[Sequence[Any]]]) -> None:
        self._columns = columns
        self._rows = rows

    def __getitem__(self, name: str) -> list[dict[str, Any]]:
        return [dict(zip(self._columns, row, strict=False)) for row in self._rows[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


class V1Lists:
    """The lists of a console. A session may see only rows whose names Kafka's protocol tells its principal."""

    def __init__(self, client: V1Client) -> None:
        self._client = client
        self.topics = Kept(self._ask_topics)
        self.groups = Kept(self._ask_groups)

    def __bool__(self) -> bool:
        return bool(self._client)

    def close(self) -> None:
        """Forget the lists for good."""
        self.topics.close()
        self.groups.close()

    async def _ask_topics(self) -> V1List:
        documents = await self._client.documents("/v1/topics", limit=_MOST, fields=",".join(_TOPIC_COLUMNS))
        told = [each for each in documents if each.get("columns") == list(_TOPIC_COLUMNS)]
        rows: dict[str, list[Sequence[Any]]] = {}
        for document in told:
            for row in document["rows"]:
                rows.setdefault(row[0], []).append(row)
        return V1List(len(told), InColumns(_TOPIC_COLUMNS, rows), is_loading=False)

    async def _ask_groups(self) -> V1List:
        shrink = _shrink("group", GROUP_FILLED_BY_V1)
        documents = await self._client.shrunk("/v1/groups", {"limit": _MOST}, shrink)
        rows: dict[str, list[Mapping[str, Any]]] = {}
        for document in documents:
            for item in document.get("items", ()):
                rows.setdefault(item.get("group"), []).append(item)
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
