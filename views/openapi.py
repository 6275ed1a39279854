"""The OpenAPI 3.1 document of /v1. ``python -m pybroker.views.openapi FILE`` writes it."""

import json
import re
import sys
from pathlib import Path
from typing import Any

from .failures import Failure, Misdirected
from .kit_paths import kit_paths
from .resources import RESOURCES, Parameter, ResourceSpec
from .schema import Schemas
from .source import API_VERSION

__all__ = ["openapi", "openapi_text"]

_ABOUT = (
    "What a pybroker knows about its cluster, read-only. Null: the broker does not know the value. "
    "Names ending in _ms are times since 1970 or durations in milliseconds, _bytes are sizes, _per_s are rates. "
    "A later version may add fields."
)
_FAILURES = {
    400: ("A parameter is unknown or its value is not allowed", Failure),
    404: ("There is no such thing", Failure),
    421: ("Another broker coordinates the group", Misdirected),
    503: ("The broker is starting", Failure),
}
_PATH_PARAMETER = re.compile(r"\{(\w+)\}")


def openapi(*, has_test_kit: bool = False) -> dict[str, Any]:
    """Return the document. ``has_test_kit``: with the paths of the test kit."""
    schemas = Schemas()
    paths = {resource.path: {"get": _operation(resource, schemas)} for resource in RESOURCES}
    if has_test_kit:
        paths |= kit_paths(schemas.reference(Failure))
    return {
        "openapi": "3.1.0",
        "info": {"title": "pybroker", "version": str(API_VERSION), "description": _ABOUT},
        "servers": [{"url": "http://127.0.0.1:8092"}],
        "security": [{}, {"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas.named,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def openapi_text(*, has_test_kit: bool = False) -> str:
    """Return the document as the file has it, or with the paths of the test kit."""
    return json.dumps(openapi(has_test_kit=has_test_kit), indent=1, ensure_ascii=False) + "\n"


def _operation(resource: ResourceSpec, schemas: Schemas) -> dict[str, Any]:
    failures = sorted({400, 503, *resource.failures})
    return {
        "summary": resource.summary,
        "operationId": "_".join(re.findall(r"\w+", resource.path)),
        "parameters": [
            *(_in_path(name) for name in _PATH_PARAMETER.findall(resource.path)),
            *map(_in_query, resource.parameters),
        ],
        "responses": {
            "200": _response(resource.summary, schemas.reference(resource.view)),
            **{str(each): _response(_FAILURES[each][0], schemas.reference(_FAILURES[each][1])) for each in failures},
            "default": _response("Access is denied, or there is no such path", schemas.reference(Failure)),
        },
    }


def _response(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _in_path(name: str) -> dict[str, Any]:
    schema = {"type": "integer", "minimum": 0} if name == "id" else {"type": "string", "minLength": 1}
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _in_query(parameter: Parameter) -> dict[str, Any]:
    schema: dict[str, Any]
    if parameter.is_number:
        schema = {"type": "integer", "minimum": parameter.least, "maximum": parameter.most}
    elif parameter.takes_several:
        names = {"type": "string", "enum": list(parameter.choices)}
        schema = {"type": "array", "items": names, "minItems": 1, "uniqueItems": True}
    elif parameter.choices:
        schema = {"type": "string", "enum": list(parameter.choices)}
    else:
        schema = {"type": "string", "maxLength": parameter.most}
    if parameter.default is not None:
        schema["default"] = parameter.default
    described: dict[str, Any] = {"name": parameter.name, "in": "query", "description": parameter.doc, "schema": schema}
    if parameter.takes_several:
        described |= {"style": "form", "explode": False}
    return {**described, "required": True} if parameter.is_required else described


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(openapi_text(), encoding="utf-8")
