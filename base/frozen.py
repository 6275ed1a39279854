"""``@frozen``: a frozen, slotted dataclass that is cheap to import.

A broker imports more than a hundred of them when it starts. `dataclasses` compiles six methods for each, which takes a
millisecond. Here all classes share them, but for `__init__`, which is compiled when the first object is made.
"""

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from types import MethodType
from typing import Any, NoReturn, TypeVar, dataclass_transform, overload

__all__ = ["InitAtFirstUse", "frozen"]

T = TypeVar("T")


@overload
def frozen(declaration: type[T]) -> type[T]: ...
@overload
def frozen(*, kw_only: bool = False, eq: bool = True) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def frozen(
    declaration: type[T] | None = None, *, kw_only: bool = False, eq: bool = True
) -> type[T] | Callable[[type[T]], type[T]]:
    """Decorates as ``dataclass(frozen=True, slots=True)`` does, with ``field``, ``replace`` and ``fields`` as usual.

    A class inherits fields of its parents if they are decorated too.
    """

    def make(declared: type[T]) -> type[T]:
        # Without a docstring `dataclasses` builds one from the signature.
        declared.__doc__ = declared.__doc__ or declared.__name__
        made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(declared)
        methods: dict[str, Any] = {"__init__": InitAtFirstUse(made, is_frozen=True), **_SHARED}
        if eq:
            compared = tuple(field.name for field in dataclasses.fields(made) if field.compare)
            methods |= _comparisons(attrgetter(*compared) if compared else _nothing)
        own = vars(declared)
        for name, method in methods.items():
            if name not in own or own[name] is None:
                setattr(made, name, method)
        return made  # type: ignore[no-any-return]

    return make if declaration is None else make(declaration)


def _compiled_init(made: type, *, is_frozen: bool) -> Callable[..., None]:
    """Returns ``__init__(self, field, …, *, field=default, …)`` as `dataclasses` would write it."""
    names: dict[str, Any] = {"missing": object()}
    positional: list[str] = []
    by_name: list[str] = []
    body: list[str] = []
    for field in dataclasses.fields(made):
        name = value = parameter = field.name
        chosen = None
        if field.default is not dataclasses.MISSING:
            chosen = f"default_{name}"
            names[chosen] = field.default
            parameter = f"{name}={chosen}"
        elif field.default_factory is not dataclasses.MISSING:
            names[f"new_{name}"] = field.default_factory
            chosen = f"new_{name}()"
            parameter, value = f"{name}=missing", f"{chosen} if {name} is missing else {name}"
        if not field.init:
            if chosen is None:
                continue  # `__post_init__` sets it
            value = chosen
        if is_frozen:
            names[f"set_{name}"] = getattr(made, name).__set__
        body.append(f"    set_{name}(self, {value})" if is_frozen else f"    self.{name} = {value}")
        if field.init:
            (by_name if field.kw_only else positional).append(parameter)
    if hasattr(made, "__post_init__"):
        body.append("    self.__post_init__()")
    parameters = ", ".join(["self", *positional, *(["*", *by_name] if by_name else [])])
    exec("\n".join([f"def __init__({parameters}):", *(body or ["    pass"])]), names)
    init = names["__init__"]
    init.__qualname__ = f"{made.__qualname__}.__init__"
    init.__module__ = made.__module__
    init.__annotations__ = {field.name: field.type for field in dataclasses.fields(made) if field.init}
    return init  # type: ignore[no-any-return]


class InitAtFirstUse:
    """Stands for ``__init__`` of a dataclass until somebody asks for it, to call it or to see its parameters."""

    def __init__(self, made: type, *, is_frozen: bool) -> None:
        self._made = made
        self._is_frozen = is_frozen

    def __get__(self, instance: object, owner: type) -> Callable[..., None]:
        init = _compiled_init(self._made, is_frozen=self._is_frozen)
        type.__setattr__(self._made, "__init__", init)
        return init if instance is None else MethodType(init, instance)


def _comparisons(values_of: Callable[[Any], Any]) -> dict[str, Callable[..., Any]]:
    def is_equal(self: Any, other: object) -> bool:
        return bool(values_of(self) == values_of(other)) if other.__class__ is self.__class__ else NotImplemented

    def hash_of(self: Any) -> int:
        return hash(values_of(self))

    return {"__eq__": is_equal, "__hash__": hash_of}


def _nothing(_: object) -> tuple[()]:
    return ()


def _repr(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _refuse_to_set(self: object, name: str, value: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


_SHARED: dict[str, Any] = {
    "__repr__": _repr,
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
    "__getstate__": _state,
    "__setstate__": _set_state,
}
