"""Reads the query of a request by the table of resources."""

from collections.abc import Mapping

from .resources import Parameter, ResourceSpec

__all__ = ["Query", "QueryError", "read_query"]

_SHOWN = 80
_MOST_DIGITS = 10


class QueryError(Exception):
    """A parameter is unknown, or its value is not allowed. One line."""


class Query:
    """The values of all parameters of a resource."""

    def __init__(self, values: Mapping[str, int | str | None]) -> None:
        self._values = values

    def number(self, name: str) -> int:
        """Return the value of a parameter that is a number with a default."""
        value = self._values[name]
        assert isinstance(value, int)
        return value

    def text(self, name: str) -> str | None:
        """Return the value of another parameter; None when it was not given and has no default."""
        value = self._values[name]
        assert not isinstance(value, int)
        return value

    def names(self, name: str) -> tuple[str, ...]:
        """Return the values of a parameter that takes several; empty when it was not given."""
        text = self.text(name)
        return () if text is None else tuple(text.split(","))

    def given_text(self, name: str) -> str:
        """Return the value of a parameter that is required, or has a default."""
        value = self._values[name]
        assert isinstance(value, str)
        return value


def read_query(resource: ResourceSpec, given: Mapping[str, str]) -> Query:
    """Return the values of a query, with defaults. Raises QueryError."""
    known = {parameter.name for parameter in resource.parameters}
    for name in given:
        if name not in known:
            allowed = ", ".join(parameter.name for parameter in resource.parameters) or "none"
            raise QueryError(f"there is no parameter {_shown(name)}; allowed: {allowed}")
    for parameter in resource.parameters:
        if parameter.is_required and parameter.name not in given:
            raise QueryError(f"the parameter {parameter.name} is missing: {parameter.doc}")
    return Query(
        {
            parameter.name: _value(parameter, given[parameter.name]) if parameter.name in given else parameter.default
            for parameter in resource.parameters
        }
    )


def _value(parameter: Parameter, text: str) -> int | str:
    if parameter.is_number:
        return _number(parameter, text)
    if parameter.takes_several:
        names = text.split(",")
        if not set(names) <= set(parameter.choices) or len(set(names)) < len(names):
            allowed = ", ".join(parameter.choices)
            raise QueryError(
                f"{parameter.name}={_shown(text)}: must be different ones, separated by commas, of {allowed}"
            )
    elif parameter.choices and text not in parameter.choices:
        raise QueryError(f"{parameter.name}={_shown(text)}: must be one of {', '.join(parameter.choices)}")
    if len(text) > parameter.most:
        raise QueryError(f"{parameter.name}: longer than {parameter.most} characters")
    return text


def _number(parameter: Parameter, text: str) -> int:
    is_plain = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
    if not is_plain or not parameter.least <= int(text) <= parameter.most:
        raise QueryError(
            f"{parameter.name}={_shown(text)}: must be a whole number from {parameter.least} to {parameter.most}"
        )
    return int(text)


def _shown(text: str) -> str:
    return ascii(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
