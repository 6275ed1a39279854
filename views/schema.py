"""JSON schemas of views, from the types of their fields."""

import types
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

__all__ = ["Schemas"]

Schema = dict[str, Any]

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


class Schemas:
    """``named``: the schema of each view that `reference` met, by the name of its class."""

    def __init__(self) -> None:
        self.named: dict[str, Schema] = {}

    def reference(self, view: type) -> Schema:
        """Return a reference to the schema of a view, and add the schemas of its parts."""
        name = view.__name__
        if name not in self.named:
            self.named[name] = {}  # a view may contain itself
            self.named[name] = self._object(view)
        return {"$ref": f"#/components/schemas/{name}"}

    def _object(self, view: type) -> Schema:
        hints = get_type_hints(view, include_extras=True)
        names = [each.name for each in fields(view)]
        required = [each.name for each in fields(view) if each.default is MISSING]
        return {
            "type": "object",
            "description": " ".join((view.__doc__ or "").split()),
            "properties": {name: self._of(hints[name]) for name in names},
            "required": required,
        }

    def _of(self, hint: Any) -> Schema:
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is Annotated:
            return {**self._of(arguments[0]), "description": arguments[1]}
        if hint in _PLAIN:
            return {"type": _PLAIN[hint]}
        if is_dataclass(hint):
            assert isinstance(hint, type)
            return self.reference(hint)
        if origin is Literal:
            return {"type": "string", "enum": list(arguments)}
        if origin in (Union, types.UnionType):
            return self._any_of(arguments)
        if origin is tuple:
            return self._array(arguments)
        if origin is dict:
            return {"type": "object", "additionalProperties": self._of(arguments[1])}
        raise TypeError(f"a view cannot have a field of type {hint}")

    def _any_of(self, options: tuple[Any, ...]) -> Schema:
        if all(option in _PLAIN for option in options):
            return {"type": [_PLAIN[option] for option in options]}
        return {"anyOf": [self._of(option) for option in options]}

    def _array(self, items: tuple[Any, ...]) -> Schema:
        if items[-1] is Ellipsis:
            return {"type": "array", "items": self._of(items[0])}
        each = [self._of(item) for item in items]
        return {"type": "array", "prefixItems": each, "items": False, "minItems": len(each)}
