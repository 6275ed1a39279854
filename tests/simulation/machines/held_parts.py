"""Walks all objects that a broker refers to, through pybroker's own objects, down to foreign ones."""

import types
from collections import deque
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

__all__ = ["foreign_parts", "shadowed_methods"]

_PLAIN = (str, bytes, bytearray, memoryview, int, float, bool, type(None), type, types.ModuleType)


def foreign_parts(root: object, ours: str = "pybroker") -> dict[str, str]:
    """Each class and function by name that is neither in `ours` nor in Python itself, with the object that refers to
    it.
    """
    found: dict[str, str] = {}
    for held, path in _walk(root, ours):
        if not _is_followed(held, ours):
            found.setdefault(_name_of(held), path)
    return found


def shadowed_methods(root: object, ours: str = "pybroker") -> list[str]:
    """Methods of our classes that are replaced by an attribute of an object."""
    return [
        f"{path}.{name}"
        for held, path in _walk(root, ours)
        if type(held).__module__.startswith(ours)
        for name in getattr(held, "__dict__", {})
        if isinstance(getattr(type(held), name, None), types.FunctionType)
    ]


def _walk(root: object, ours: str) -> Iterator[tuple[Any, str]]:
    seen: dict[int, object] = {}
    queue: deque[tuple[Any, str]] = deque([(root, type(root).__name__)])
    while queue:
        held, path = queue.popleft()
        if isinstance(held, _PLAIN) or id(held) in seen:
            continue
        seen[id(held)] = held
        yield held, path
        if _is_followed(held, ours):
            queue.extend((each, f"{path}.{name}") for name, each in _parts_of(held))


def _is_followed(held: Any, ours: str) -> bool:
    module = _module_of(held)
    return module.startswith((ours, "builtins", "collections", "functools", "types", "weakref", "_weakref", "enum"))


def _module_of(held: Any) -> str:
    is_code = isinstance(held, (types.FunctionType, types.MethodType, types.BuiltinFunctionType))
    return (held.__module__ if is_code else type(held).__module__) or "builtins"


def _name_of(held: Any) -> str:
    is_code = isinstance(held, (types.FunctionType, types.MethodType))
    return f"{_module_of(held)}.{held.__qualname__ if is_code else type(held).__qualname__}"


def _parts_of(held: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(held, Mapping):
        for key, value in list(held.items()):
            yield "key", key
            yield f"[{key!r:.40}]", value
    elif isinstance(held, (list, tuple, set, frozenset, deque)):
        for value in list(held):
            yield "[]", value
    elif isinstance(held, partial):
        yield from (("func", held.func), ("args", held.args), ("keywords", held.keywords))
    elif isinstance(held, types.MethodType):
        yield "__self__", held.__self__
    elif isinstance(held, types.FunctionType):
        for cell in held.__closure__ or ():
            yield "closure", _content_of(cell)
        yield "defaults", held.__defaults__
    yield from getattr(held, "__dict__", {}).items() if not isinstance(held, types.FunctionType) else ()
    for base in type(held).__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(held, name):
                yield name, getattr(held, name)


def _content_of(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not initialised yet
        return None
