"""The paths that change the cluster. Each answer has the command line that does the same."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...base.topic_partition import TopicPartition
from ...protocol.errors import error_for
from ...protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from ...protocol.messages.delete_groups import DeleteGroupsRequest
from ...protocol.messages.delete_topics import DeleteTopicsRequest
from ..audit_log import audit
from ..console import Console
from ..http.bodies import json_body, number_field, text_field
from ..http.path_names import path_name
from ..http.replies import HttpProblem, json_reply
from ..sessions import Session
from .offset_resets import execute, place_of, plan, shift_of
from .producing import chosen_partition, produce, record_in

_TIMEOUT_MS = 30_000
_BROKERS_CHOICE = -1
_MAX_PARTITIONS = 10_000
_MAX_CONFIGS = 100


def write_paths(console: Console) -> list[Route]:
    """All paths that change the cluster."""
    writes = _Writes(console)
    topic, group = "/api/topics/{topic}", "/api/groups/{group}"
    return [
        console.route("/api/topics", writes.create_topic, "POST", writes=True),
        console.route(topic, writes.delete_topic, "DELETE", writes=True),
        console.route(f"{topic}/records", writes.produce, "POST", writes=True),
        console.route(f"{group}/offsets/plan", writes.plan_reset, "POST", writes=True),
        console.route(f"{group}/offsets", writes.reset, "POST", writes=True),
        console.route(group, writes.delete_group, "DELETE", writes=True),
    ]


class _Writes:
    """One method a path."""

    def __init__(self, console: Console) -> None:
        self._cli = console.cli

    async def create_topic(self, request: Request, session: Session) -> Response:
        body = await json_body(request)
        name = text_field(body, "name")
        partitions = number_field(body, "partitions", 1, _MAX_PARTITIONS)
        factor = number_field(body, "replication_factor", 1, 32_767)
        configs = {} if body.get("configs") is None else body["configs"]
        if not isinstance(configs, dict) or len(configs) > _MAX_CONFIGS:
            raise HttpProblem(400, f"'configs' must be an object with at most {_MAX_CONFIGS} settings")
        if not all(isinstance(each, str) for each in configs.values()):
            raise HttpProblem(400, "the values of 'configs' must be texts")
        is_dry = body.get("dry_run") is True
        topic = CreatableTopic(
            name=name,
            num_partitions=partitions or _BROKERS_CHOICE,
            replication_factor=factor or _BROKERS_CHOICE,
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
        )
        asked = CreateTopicsRequest(topics=[topic], timeout_ms=_TIMEOUT_MS, validate_only=is_dry)
        answer = await session.cluster.ask_controller(asked)
        _check(answer.topics, f"topic {name}")
        if not is_dry:
            audit(session.user, "creation of a topic", topic=name)
        cli = self._cli.create_topic(name, partitions, factor, configs)
        return json_reply({"created": not is_dry, "cli": cli})

    async def delete_topic(self, request: Request, session: Session) -> Response:
        name, body = path_name(request, "topic"), await json_body(request)
        cli = self._cli.delete_topic(name)
        if body.get("dry_run") is True:
            return json_reply({"deleted": False, "cli": cli})
        _check_confirmed(body, name)
        asked = DeleteTopicsRequest(topic_names=[name], timeout_ms=_TIMEOUT_MS)
        audit(session.user, "deletion of a topic", topic=name)
        _check((await session.cluster.ask_controller(asked)).responses, f"topic {name}")
        return json_reply({"deleted": True, "cli": cli})

    async def produce(self, request: Request, session: Session) -> Response:
        name, body = path_name(request, "topic"), await json_body(request)
        record = record_in(body)
        partition = await chosen_partition(session.cluster, name, number_field(body, "partition", 0, (1 << 31) - 1))
        headers = [(_shown(each.encode()) or "", _shown(data)) for each, data in record.headers]
        cli = self._cli.produce(name, _shown(record.key), _shown(record.value), headers)
        if body.get("dry_run") is True:
            return json_reply({"partition": partition, "offset": None, "timestamp_ms": record.timestamp_ms, "cli": cli})
        produced = await produce(session.cluster, TopicPartition(name, partition), record)
        audit(session.user, "production of a record", topic=name, partition=partition, offset=produced.offset)
        return json_reply({**produced._asdict(), "cli": cli})

    async def plan_reset(self, request: Request, session: Session) -> Response:
        group, body = path_name(request, "group"), await json_body(request)
        topic, to, partitions = text_field(body, "topic"), text_field(body, "to"), _partitions(body)
        planned = await plan(session.cluster, group, topic, partitions, to)
        planned["cli"] = self._cli.reset(group, topic, partitions, place_of(to), shift_of(to))
        return json_reply(planned)

    async def reset(self, request: Request, session: Session) -> Response:
        group, body = path_name(request, "group"), await json_body(request)
        rows = body.get("plan")
        if not isinstance(rows, list):
            raise HttpProblem(400, "'plan' must be the rows of a plan")
        done = await execute(session.cluster, group, rows)
        audit(session.user, "reset of offsets", group=group, partitions=len(done))
        return json_reply({"done": done, "cli": self._cli.group(group)})

    async def delete_group(self, request: Request, session: Session) -> Response:
        group, body = path_name(request, "group"), await json_body(request)
        cli = self._cli.delete_group(group)
        if body.get("dry_run") is True:
            return json_reply({"deleted": False, "cli": cli})
        _check_confirmed(body, group)
        audit(session.user, "deletion of a group", group=group)
        answer = await session.cluster.ask_coordinator(group, DeleteGroupsRequest(groups_names=[group]))
        _check(answer.results, f"group {group}")
        return json_reply({"deleted": True, "cli": cli})


def _check(results: list[Any], what: str) -> None:
    (result,) = results
    if result.error_code:
        said = getattr(result, "error_message", None) or error_for(result.error_code)
        raise error_for(result.error_code, f"{what}: {said}")


def _check_confirmed(body: dict[str, Any], name: str) -> None:
    if body.get("confirm") != name:
        raise HttpProblem(400, "type the name to confirm: 'confirm' must be the same name")


def _partitions(body: dict[str, Any]) -> list[int] | None:
    given = body.get("partitions")
    if given is None:
        return None
    if not isinstance(given, list) or len(given) > _MAX_PARTITIONS or not all(type(each) is int for each in given):
        raise HttpProblem(400, "'partitions' must be null or a list of numbers")
    return sorted(set(given))


def _shown(data: bytes | None) -> str | None:
    """Text as the command line shows it; a long one is cut."""
    return None if data is None else data[:1_000].decode("utf-8", "replace")
