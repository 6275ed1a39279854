"""The paths of views, such as `/api/topics`."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...base.acl_rules.question import AclQuestion, QuestionError, read_question
from ...base.acls import CLUSTER_NAME, EVERY_HOST, AclResourceType
from ...client.asynchronous.cluster import AsyncCluster
from ...protocol.errors import ErrorCode
from ...protocol.messages.describe_cluster import DescribeClusterRequest
from ..console import Console
from ..http.path_names import path_name
from ..http.replies import HttpProblem, json_reply, list_reply
from ..sessions import Session
from .broker_views import broker_detail, broker_rows, cluster_view
from .explained_acl import explained_acl
from .group_views import group_detail, without_lag
from .overlay import clients_of_all, cluster_told_by_all, overlaid, overlaid_cluster, summed_history
from .paging import Paging
from .setting_views import BROKER, settings_of
from .topic_list import topic_list
from .topic_views import partition_columns, partition_matrix, topic_detail

_MOST_TEXT = 1_000
_DESCRIBE_BIT = 1 << 8
"""AclOperation DESCRIBE in the bits of authorized operations (KIP-430)."""


def view_paths(console: Console) -> list[Route]:
    """All views."""
    views = _Views(console)
    return [
        console.route("/api/cluster", views.cluster),
        console.route("/api/brokers", views.brokers),
        console.route("/api/brokers/{id:int}", views.broker),
        console.route("/api/partitions", views.partitions),
        console.route("/api/topics", views.topics),
        console.route("/api/topics/{topic}", views.topic),
        console.route("/api/groups", views.groups),
        console.route("/api/groups/{group}", views.group),
        console.route("/api/groups/{group}/timeline", views.timeline),
        console.route("/api/history", views.history),
        console.route("/api/clients", views.clients),
        console.route("/api/requests/slow", views.slow_requests),
        console.route("/api/events", views.events),
        console.route("/api/transactions", views.transactions),
        console.route("/api/configs", views.configs),
        console.route("/api/configs/brokers/{id:int}", views.configs),
        console.route("/api/explain/acl", views.explain),
    ]


class _Views:
    """One method a path."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._v1 = console.v1

    async def cluster(self, request: Request, session: Session) -> Response:
        documents = await self._documents(session, "/v1/cluster")
        told = cluster_told_by_all(documents) or await cluster_view(session.facts)
        return self._reply(overlaid_cluster(told, documents), documents, self._console.cli.brokers())

    async def brokers(self, request: Request, session: Session) -> Response:
        rows = broker_rows(await session.facts.metadata())
        return self._reply({"total": len(rows), "items": rows}, [], self._console.cli.brokers())

    async def broker(self, request: Request, session: Session) -> Response:
        number = int(request.path_params["id"])
        detail = await broker_detail(session.cluster, await session.facts.metadata(), number)
        if detail is None:
            raise HttpProblem(404, f"broker {number} is not alive", "BROKER_NOT_AVAILABLE")
        documents = await self._documents(session, f"/v1/brokers/{number}")
        own = [each for each in documents if each.get("local") is not None]
        if own:
            detail["local"] = own[0]["local"]
        return self._reply(detail, own, self._console.cli.log_directories())

    async def partitions(self, request: Request, session: Session) -> Response:
        paging = Paging.of(request.query_params)
        topic = request.query_params.get("topic")
        metadata = await (session.cluster.metadata([topic]) if topic else session.facts.metadata())
        rows = partition_columns(metadata, request.query_params.get("state"))
        matrix = partition_matrix(rows, len(rows), paging.limit, paging.offset)
        return self._reply(matrix, [], self._console.cli.topics())

    async def topics(self, request: Request, session: Session) -> Response:
        paging = Paging.of(request.query_params, ("state",))
        listed = await topic_list(session.facts, self._console.v1_lists)
        state = paging.chosen.get("state")
        field = "is_internal" if state == "internal" else f"{state}_partitions"
        is_wanted = None if state is None else lambda row: bool(row.get(field))
        page = await paging.page(listed.names, "topic", listed.row_of, is_wanted)
        view = {"is_complete": listed.is_complete, **self._about(listed.brokers, self._console.cli.topics())}
        return list_reply({"total": page.total, "matched": page.matched, **view}, page.rows)

    async def topic(self, request: Request, session: Session) -> Response:
        name = path_name(request, "topic")
        detail = await topic_detail(session.cluster, name)
        documents = await self._v1.documents(f"/v1/topics/{_quoted(name)}") if self._v1 else []
        detail["topic"] = overlaid(detail["topic"], [each["topic"] for each in documents])
        by_number: dict[int, list[Any]] = {}
        for document in documents:
            for each in document.get("partitions", ()):
                if each.get("is_led_here"):
                    by_number.setdefault(each["partition"], []).append(each)
        detail["partitions"] = [overlaid(each, by_number.get(each["partition"], ())) for each in detail["partitions"]]
        visible = {row["group"] for row in await session.facts.groups()} if documents else set()
        detail["consumers"] = [
            each for document in documents for each in document.get("consumers", ()) if each["group"] in visible
        ]
        histories = [each["history"] for each in documents if each.get("history")]
        detail["history"] = summed_history(histories)
        return self._reply(detail, documents, self._console.cli.topic(name))

    async def groups(self, request: Request, session: Session) -> Response:
        paging = Paging.of(request.query_params, ("state", "verdict"))
        told = None
        if self._v1:
            listed, told = await asyncio.gather(session.facts.groups(), self._console.v1_lists.groups.get())
        else:
            listed = await session.facts.groups()
        rows = {row["group"]: row for row in listed}
        chosen = paging.chosen
        page = await paging.page(
            rows,
            "group",
            lambda name: overlaid(rows[name], () if told is None else told.rows.get(name, ())),
            (lambda row: all(row[field] == wanted for field, wanted in chosen.items())) if chosen else None,
        )
        view = {
            "is_loading": told is not None and told.is_loading,
            "without_lag": without_lag(rows, () if told is None else told.rows),
            **self._about(0 if told is None else told.brokers, self._console.cli.groups()),
        }
        return list_reply({"total": page.total, "matched": page.matched, **view}, page.rows)

    async def group(self, request: Request, session: Session) -> Response:
        name = path_name(request, "group")
        detail = await group_detail(session.cluster, name)
        documents = await self._v1.documents(f"/v1/groups/{_quoted(name)}") if self._v1 else []
        if documents:
            told = documents[0]
            detail["group"] = overlaid({**detail["group"], "coordinator": None}, [told["group"]])
            detail["waits_for"] = told.get("waits_for")
            detail["history"] = told.get("history")
            for kind, names in (("members", ("member_id",)), ("offsets", ("topic", "partition"))):
                rows = {tuple(row[each] for each in names): row for row in told.get(kind, ())}
                found = [(row, rows.get(tuple(row[each] for each in names))) for row in detail[kind]]
                detail[kind] = [overlaid(row, [other] if other else ()) for row, other in found]
        return self._reply(detail, documents, self._console.cli.group(name))

    async def timeline(self, request: Request, session: Session) -> Response:
        name = path_name(request, "group")
        await group_detail(session.cluster, name)  # raises when the principal may not see the group
        documents = await self._v1.documents(f"/v1/groups/{_quoted(name)}/timeline") if self._v1 else []
        events = [event for each in documents for event in each.get("events", ())]
        return self._reply({"group": name, "events": events}, documents, self._console.cli.group(name))

    async def history(self, request: Request, session: Session) -> Response:
        topic = request.query_params.get("topic")
        query = {"points": request.query_params.get("points", "120")}
        if topic is not None:
            await session.cluster.topic(topic)
            query["topic"] = topic
        documents = await self._documents(session, "/v1/history", **query)
        histories = [each["history"] for each in documents if each.get("history")]
        view = {"topic": topic, "history": summed_history(histories)}
        return self._reply(view, documents, self._console.cli.brokers())

    async def clients(self, request: Request, session: Session) -> Response:
        documents = await self._documents(session, "/v1/clients")
        items = clients_of_all(_items(documents))
        connections = sum(each.get("connections", 0) for each in documents)
        return self._reply({"connections": connections, "items": items}, documents, self._console.cli.brokers())

    async def slow_requests(self, request: Request, session: Session) -> Response:
        documents = await self._documents(session, "/v1/requests/slow")
        threshold = documents[0].get("threshold_ms") if documents else None
        for document in documents:
            for item in document.get("items", ()):
                item["broker_id"] = document["source"]["broker_id"]
        view = {"threshold_ms": threshold, "items": _newest(documents, 1_000)}
        return self._reply(view, documents, self._console.cli.brokers())

    async def events(self, request: Request, session: Session) -> Response:
        documents = await self._documents(session, "/v1/events")
        return self._reply({"items": _newest(documents, 256)}, documents, self._console.cli.brokers())

    async def transactions(self, request: Request, session: Session) -> Response:
        documents = await self._documents(session, "/v1/transactions")
        items = _items(documents)
        return self._reply({"total": len(items), "items": items}, documents, "kafka-transactions.sh list")

    async def configs(self, request: Request, session: Session) -> Response:
        metadata = await session.cluster.metadata([])
        alive = sorted(broker.node_id for broker in metadata.brokers)
        number = request.path_params.get("id", metadata.controller_id if metadata.controller_id in alive else None)
        if number is None:
            raise HttpProblem(502, "the cluster has no controller to ask for settings")
        settings = await settings_of(session.cluster, BROKER, str(number))
        wanted = request.query_params.get("filter", "").lower()
        settings = [each for each in settings if wanted in each["name"].lower()]
        if request.query_params.get("changed") == "true":
            settings = [each for each in settings if each["source"] != "default"]
        view = {"broker_id": int(number), "settings": settings, "loggers": []}
        return self._reply(view, [], self._console.cli.configs(int(number)))

    async def explain(self, request: Request, session: Session) -> Response:
        question = _question(request)
        asked = {
            "user": question.principal,
            "host": question.host,
            "operation": question.operation.name,
            "resource-type": question.resource_type.name,
            "resource": question.name,
        }
        documents = await self._documents(session, "/v1/explain/acl", **asked)
        view = documents[0] if documents else await explained_acl(session.cluster, question)
        return self._reply(view, documents, self._console.cli.explain_acl(question, has_v1=bool(documents)))

    async def _documents(self, session: Session, path: str, **query: str) -> list[dict[str, Any]]:
        """Documents about the whole cluster. Raises HttpProblem if the principal may not describe the cluster."""
        if not self._v1:
            return []
        if self._console.settings.needs_login and not await _may_describe(session.cluster):
            if path == "/v1/cluster":
                return []
            raise HttpProblem(403, "this needs Describe on the cluster", ErrorCode.CLUSTER_AUTHORIZATION_FAILED.name)
        return await self._v1.documents(path, **query)

    def _reply(self, view: dict[str, Any], documents: list[dict[str, Any]], cli: str) -> Response:
        return json_reply({**view, **self._about(len(documents), cli)})

    def _about(self, brokers: int, cli: str) -> dict[str, Any]:
        """Where a view comes from, and the command line that shows the same. `brokers`: pybrokers that told of it."""
        return {"source": self._console.source(brokers), "cli": cli}


def _question(request: Request) -> AclQuestion:
    """Raises HttpProblem for a question that makes no sense."""
    given = request.query_params
    kind = AclResourceType.of_name(given.get("resource_type", "").replace("_", ""))
    name = given.get("resource_name", "") or (CLUSTER_NAME if kind is AclResourceType.CLUSTER else "")
    if not given.get("principal") or max(map(len, given.values())) > _MOST_TEXT:
        raise HttpProblem(400, f"the principal is missing, or a text has more than {_MOST_TEXT} characters")
    try:
        return read_question(
            given["principal"], given.get("host") or EVERY_HOST, given.get("operation", ""), kind, name
        )
    except QuestionError as error:
        raise HttpProblem(400, str(error)) from None


async def _may_describe(cluster: AsyncCluster) -> bool:
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)
    answer = await cluster.ask_any(request)
    return not answer.error_code and bool(answer.cluster_authorized_operations & _DESCRIBE_BIT)


def _items(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [item for document in documents for item in document.get("items", ())]


def _newest(documents: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    return sorted(_items(documents), key=lambda each: -each.get("time_ms", 0))[:most]


def _quoted(name: str) -> str:
    return quote(name, safe="")
