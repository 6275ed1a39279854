"""``ssl.principal.mapping.rules``: how the name of a client's certificate becomes the name of a user (KIP-371).

The setting is a list of ``DEFAULT`` (the name as it is) and ``RULE:pattern/replacement/`` with ``L`` or ``U`` behind it
for lower or upper case. The first rule whose pattern matches the whole name is applied.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from .config_error import ConfigError
from .java_patterns import PatternError, translate_pattern

__all__ = ["LONGEST_NAME", "MappingRules", "parse_mapping_rules"]

LONGEST_NAME = 4096
"""Longer names are matched by no pattern, because matching can take a time that grows fast with the length."""

_RULE = re.compile(r"RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?)")
_END = re.compile(r"\s*(?:,\s*|\Z)")
_NAME = "ssl.principal.mapping.rules"
_REFERENCE = re.compile(r"\$\{([a-zA-Z][a-zA-Z0-9]*)\}")


class _Rule(NamedTuple):
    """``replacement``: text, and numbers or names of groups. ``change_case`` is applied to the result."""

    pattern: re.Pattern[str]
    replacement: tuple[str | int, ...]
    change_case: Callable[[str], str]

    def apply(self, name: str) -> str | None:
        """The user's name, or None if the pattern does not match the whole name."""
        if len(name) > LONGEST_NAME or not self.pattern.fullmatch(name):
            return None
        # As in Kafka, the replacement is made for each place where the pattern matches, not for the whole name.
        return self.change_case(self.pattern.sub(self._expand, name))

    def _expand(self, found: re.Match[str]) -> str:
        return "".join(part if isinstance(part, str) else found[part] or "" for part in self.replacement)


class MappingRules:
    """Rules in their order; None stands for ``DEFAULT``."""

    __slots__ = ("_rules",)

    def __init__(self, rules: tuple[_Rule | None, ...]) -> None:
        self._rules = rules

    def user_of(self, distinguished_name: str) -> str | None:
        """The name of the user, or None if no rule applies: then the client is not authenticated."""
        for rule in self._rules:
            user = distinguished_name if rule is None else rule.apply(distinguished_name)
            if user is not None:
                return user
        return None


def parse_mapping_rules(text: str) -> MappingRules:
    """Parse the value of the setting.

    Raises:
        ConfigError: one line that names the rule and what is wrong with it.
    """
    return MappingRules(tuple(_rules(text.strip())))


def _rules(text: str) -> Iterator[_Rule | None]:
    position = 0
    while position < len(text):
        rule = _RULE.match(text, position)
        if rule is not None:
            yield _rule(*rule.groups())
            position = rule.end()
        elif text.startswith("DEFAULT", position):
            yield None
            position += len("DEFAULT")
        end = _END.match(text, position)
        if end is None:
            shown = text[position:].partition(",")[0].strip()
            raise ConfigError(
                f"{_NAME}: {shown!r} is neither DEFAULT nor RULE:pattern/replacement/ with L, U or nothing"
            )
        position = end.end()


def _rule(pattern: str, replacement: str, case: str) -> _Rule:
    try:
        compiled = translate_pattern(pattern)
        parts = tuple(_parts(replacement, compiled))
    except PatternError as error:
        raise ConfigError(f"{_NAME}: RULE:{pattern}/{replacement}/{case}: {error}") from None
    change_case = {"L": str.lower, "U": str.upper}.get(case, str)
    return _Rule(compiled, parts, change_case)


def _parts(replacement: str, pattern: re.Pattern[str]) -> Iterator[str | int]:
    """Java's syntax of replacements: ``$1``, ``${name}``, and a backslash before a character that means itself."""
    position = 0
    while position < len(replacement):
        character = replacement[position]
        position += 1
        if character == "\\":
            yield replacement[position]
            position += 1
        elif character == "$":
            part, position = _reference(replacement, position, pattern)
            yield part
        else:
            yield character


def _reference(replacement: str, position: int, pattern: re.Pattern[str]) -> tuple[str | int, int]:
    """The group that stands behind a ``$``, or the text if there is no such group, and the position after it."""
    named = _REFERENCE.match(replacement, position - 1)
    if named is not None and named[1] in pattern.groupindex:
        return pattern.groupindex[named[1]], named.end()
    end = position
    while end < len(replacement) and replacement[end] in "0123456789":
        end += 1
        if int(replacement[position:end]) > pattern.groups and end - position > 1:
            end -= 1  # one digit less is a group, as in Java
            break
    if end == position:
        raise PatternError("a $ in the replacement must have a number of a group behind it, or a backslash before it")
    number = int(replacement[position:end])
    if number <= pattern.groups:
        return number, end
    if not pattern.groups:
        raise PatternError(f"the pattern has no group {number}")
    return f"${number}", end
