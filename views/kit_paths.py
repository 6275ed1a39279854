"""The paths of the test kit in OpenAPI documents: of a broker that has it, and of a whole cluster."""

from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["ActShape", "cluster_document", "kit_paths"]

_FLAG = {"const": True}
_MS = {"type": "integer", "minimum": 0, "maximum": 86_400_000}
_TEXT = {"type": "string"}
_FAULT: dict[str, Any] = {
    "type": "object",
    "description": "A fault has exactly one effect: one of error, delay, drop_request, drop_response, hang, reset, "
    "cut_after, corrupt, throttle, refuse_connections.",
    "properties": {
        "api": {**_TEXT, "description": "Kafka's name, such as Fetch; * for every API"},
        "error": {**_TEXT, "description": "Kafka's name of an error code; the request is not carried out"},
        "delay": {**_MS, "description": "the request and those behind it on the connection start so much later"},
        "jitter_ms": {**_MS, "description": "with delay: up to so much more, at random"},
        "drop_request": {**_FLAG, "description": "not carried out; the connection is closed"},
        "drop_response": {**_FLAG, "description": "carried out; the connection is closed without the response"},
        "hang": {**_FLAG, "description": "starts when the fault is removed"},
        "reset": {**_FLAG, "description": "not carried out; the connection is reset"},
        "cut_after": {
            "type": "integer",
            "minimum": 0,
            "maximum": 1_048_576,
            "description": "carried out; so many bytes of the response are sent, then the connection is closed",
        },
        "corrupt": {**_FLAG, "description": "a batch of a Fetch response has a wrong checksum"},
        "throttle": {**_MS, "description": "the client is throttled, as by a quota"},
        "refuse_connections": {**_FLAG, "description": "new connections are closed at once"},
        "topic": _TEXT,
        "partition": {"type": "integer", "minimum": 0, "description": "with topic"},
        "group": _TEXT,
        "transactional_id": _TEXT,
        "client": {**_TEXT, "description": "a pattern of client ids, such as svc-*"},
        "times": {"type": ["integer", "null"], "minimum": 1, "description": "the fault ends when it fired so often"},
        "after": {"type": "integer", "minimum": 0, "description": "so many matching requests pass first"},
    },
}
_SET_FAULT: dict[str, Any] = {
    **_FAULT,
    "properties": {
        "id": {"type": "integer"},
        **_FAULT["properties"],
        "fired": {"type": "integer", "description": "how often it has fired"},
        "is_active": {"type": "boolean"},
    },
    "required": ["id", "api", "times", "after", "fired", "is_active"],
}
_ABOUT_CLUSTER = (
    "Faults on all brokers of a cluster, and acts on each of them. A broker is named by its id from 1, the metadata "
    'store by "zookeeper". A response comes when the act is done.'
)
_ANYTHING: dict[str, Any] = {"type": "object"}


def kit_paths(failure: dict[str, Any]) -> dict[str, Any]:
    """The paths, for ``paths`` of the document. ``failure``: the schema of a refusal."""

    def operation(
        summary: str,
        response: dict[str, Any],
        *,
        body: dict[str, Any] | None = None,
        status: str = "200",
        path: str = "",
    ) -> dict[str, Any]:
        described: dict[str, Any] = {
            "summary": summary,
            "tags": ["for tests only"],
            "responses": {
                status: _response(summary, response),
                "default": _response("The request is refused; the text says why", failure),
            },
        }
        if body is not None:
            described["requestBody"] = {"content": {"application/json": {"schema": body}}}
        if path:
            described["parameters"] = [{"name": path, "in": "path", "required": True, "schema": _TEXT}]
        return described

    listed = {"type": "object", "properties": {"faults": {"type": "array", "items": _SET_FAULT}}}
    waiting = operation("A fault; with fired: once it has fired so often", _SET_FAULT, path="id")
    waiting["parameters"] += [
        {"name": name, "in": "query", "schema": {"type": "integer", "minimum": 1}} for name in ("fired", "timeout_ms")
    ]
    return {
        "/v1/test/faults": {
            "get": operation("All faults", listed),
            "post": operation("Set a fault", _SET_FAULT, body=_FAULT, status="201"),
            "delete": operation("Remove all faults", _ANYTHING),
        },
        "/v1/test/faults/{id}": {"get": waiting, "delete": operation("Remove a fault", _SET_FAULT, path="id")},
        "/v1/test/acts/{name}": {"post": operation("Carry out an act", _ANYTHING, body=_ANYTHING, path="name")},
        "/v1/test/steps/{name}": {
            "post": operation("A step of an act, for the cluster of the broker", _ANYTHING, body=_ANYTHING, path="name")
        },
        "/v1/test/clock": {"post": operation("Move the clock", _ANYTHING, body=_ANYTHING)},
        "/v1/test/reset": {"post": operation("Remove all faults, and end the trouble of the disk", _ANYTHING)},
    }


class ActShape(NamedTuple):
    """An act: its description, the JSON types of its arguments by name, and the arguments that must be given."""

    description: str
    types: Mapping[str, list[str]]
    required: list[str]


def cluster_document(acts: Mapping[str, ActShape]) -> dict[str, Any]:
    """The OpenAPI document of the test kit of a cluster."""
    failure = {"type": "object", "properties": {"error": _TEXT}, "required": ["error"]}
    paths = kit_paths(failure)
    for only_of_brokers in ("/v1/test/acts/{name}", "/v1/test/steps/{name}", "/v1/test/clock"):
        del paths[only_of_brokers]
    fault = paths["/v1/test/faults"]["post"]["requestBody"]["content"]["application/json"]
    broker = {"type": "integer", "description": "the only broker with the fault"}
    fault["schema"] = {**_FAULT, "properties": {**_FAULT["properties"], "broker": broker}}
    for name, act in acts.items():
        paths[f"/v1/test/acts/{name}"] = {"post": _act(name, act, failure)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "pybroker test kit of a cluster", "version": "1", "description": _ABOUT_CLUSTER},
        "paths": paths,
    }


def _act(name: str, act: ActShape, failure: dict[str, Any]) -> dict[str, Any]:
    types = {each: {"type": kinds if len(kinds) > 1 else kinds[0]} for each, kinds in act.types.items()}
    done = {"type": "object", "properties": {"act": {"const": name}, "result": {}}, "required": ["act", "result"]}
    body = {"type": "object", "properties": types, "required": act.required, "additionalProperties": False}
    return {
        "summary": act.description.split("\n")[0],
        "tags": ["for tests only"],
        "requestBody": {"required": bool(act.required), "content": {"application/json": {"schema": body}}},
        "responses": {
            "200": _response("The act is done", done),
            "default": _response("The act is refused, or could not be done; the text says why", failure),
        },
    }


def _response(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}
