"""Faults as JSON: the words of `Faults`, for HTTP.

{"api": "Produce", "error": "NOT_LEADER_OR_FOLLOWER", "topic": "orders", "times": 3}
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from ..faults.effects import Break, Corrupt, Delay, Effect, Fail, Hang, RefuseConnections, Throttle, Way
from ..faults.fault_setter import FaultSetter, SetFault
from ..faults.target import Target, Where
from ..faults.words import WordError, unknown_word

__all__ = ["fault_view", "set_fault", "words_of"]

Setter = Callable[[FaultSetter[Any], str, Any, Where], Any]
FaultT = TypeVar("FaultT", bound=SetFault)


def _flag(setter: Callable[[FaultSetter[Any], str, Where], Any], name: str) -> Setter:
    """For a word without a value, which is true."""

    def set_if_true(faults: FaultSetter[Any], api: str, value: Any, where: Where) -> Any:
        if value is not True:
            raise WordError(name, "true", value)
        return setter(faults, api, where)

    return set_if_true


_SETTERS: Mapping[str, Setter] = {
    "error": lambda faults, api, code, where: faults.error(api, code, **where),
    "throttle": lambda faults, api, ms, where: faults.throttle(api, ms, **where),
    "cut_after": lambda faults, api, size_bytes, where: faults.cut_after(api, size_bytes, **where),
    "drop_request": _flag(lambda faults, api, where: faults.drop_request(api, **where), "drop_request"),
    "drop_response": _flag(lambda faults, api, where: faults.drop_response(api, **where), "drop_response"),
    "reset": _flag(lambda faults, api, where: faults.reset(api, **where), "reset"),
    "hang": _flag(lambda faults, api, where: faults.hang(api, **where), "hang"),
    "corrupt": _flag(lambda faults, _api, where: faults.corrupt(**where), "corrupt"),
}
_DELAY, _JITTER, _REFUSE, _API, _CORRUPT = "delay", "jitter_ms", "refuse_connections", "api", "corrupt"
_WORDS = (*_SETTERS, _DELAY, _REFUSE)
_COUNTS = ("times", "after")
_VALUES = {_DELAY: "ms", "throttle": "ms", "cut_after": "size_bytes"}
"""Words in JSON, and the parameters in Python that have their values."""


def set_fault(faults: FaultSetter[FaultT], body: Mapping[str, Any]) -> FaultT:
    """Set the fault that ``body`` describes. Raises ValueError with a plain line in the words of JSON."""
    try:
        return _set(faults, dict(body))
    except WordError as error:
        own = {"code": "error"} | {parameter: word for word, parameter in _VALUES.items() if word in body}
        raise ValueError(error.in_json(own)) from None


def _set(faults: FaultSetter[FaultT], words: dict[str, Any]) -> FaultT:
    named = [word for word in _WORDS if word in words]
    if len(named) != 1:
        raise ValueError(f"a fault has exactly one of {', '.join(_WORDS)}")
    (word,) = named
    value = words.pop(word)
    _check_names(word, words)
    if word == _REFUSE:
        return _refuse(faults, value, words)
    api = words.pop(_API, "Fetch" if word == _CORRUPT else None)
    if api is None:
        raise ValueError("a fault needs an api, such as Fetch")
    if word == _CORRUPT and api != "Fetch":
        raise WordError(_API, "Fetch beside corrupt", api)
    if word == _DELAY:
        jitter_ms = words.pop(_JITTER, 0)
        return faults.delay(api, value, jitter_ms, **cast("Where", words))
    fault: FaultT = _SETTERS[word](faults, api, value, cast("Where", words))
    return fault


def _check_names(word: str, others: Mapping[str, Any]) -> None:
    """Raises ValueError for a name that does not go with the effect ``word``."""
    if word == _REFUSE:
        known: tuple[str, ...] = _COUNTS
    else:
        known = (_API, *Where.__annotations__, *((_JITTER,) if word == _DELAY else ()))
    for name in others:
        if name not in known:
            raise ValueError(unknown_word("word", name, known, place=f" beside {word}"))


def _refuse(faults: FaultSetter[FaultT], value: Any, words: dict[str, Any]) -> FaultT:
    if value is not True:
        raise WordError(_REFUSE, "true", value)
    return faults.refuse_connections(times=words.get("times"), after=words.get("after", 0))


def words_of(target: Target, effect: Effect, where: Where) -> dict[str, Any]:
    """The words with which `set_fault` sets such a fault."""
    words = _described(target, effect) | {"times": where.get("times"), "after": where.get("after", 0)}
    if isinstance(effect, RefuseConnections):
        del words[_API]
    return words


def fault_view(fault: SetFault) -> dict[str, Any]:
    """The words of a fault, with its id and how often it has fired."""
    view: dict[str, Any] = {"id": fault.id, **_described(fault.target, fault.effect)}
    return {**view, "times": fault.times, "after": fault.after, "fired": fault.fired, "is_active": fault.is_active}


def _described(target: Target, effect: Effect) -> dict[str, Any]:
    view = {_API: target.api_name, **_effect_view(effect)}
    for name in ("topic", "partition", "group", "transactional_id", "client"):
        if getattr(target, name) is not None:
            view[name] = getattr(target, name)
    return view


def _effect_view(effect: Effect) -> dict[str, Any]:
    match effect:
        case Fail(code):
            return {"error": code.name}
        case Delay(ms, jitter_ms):
            return {_DELAY: ms, _JITTER: jitter_ms}
        case Throttle(ms):
            return {"throttle": ms}
        case Break() as effect:
            return {effect.way.value: effect.after_bytes if effect.way is Way.WITHIN else True}
        case Hang():
            return {"hang": True}
        case Corrupt():
            return {_CORRUPT: True}
        case RefuseConnections():
            return {_REFUSE: True}
