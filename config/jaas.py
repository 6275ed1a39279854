"""Parses JAAS: the value of ``sasl.jaas.config``, and files for ``java.security.auth.login.config``.

**How.** Both hold entries `Module flag name="value" … ;`. A file groups them in sections, one for each user of JAAS.

**Limits.** No class is loaded: a module outside a closed list is refused (CVE-2023-25194, CVE-2025-27818), and so is
a value with `${…}`, because no provider or system property would replace it (CVE-2024-31141).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType

from ..base.frozen import frozen
from .jaas_tokens import FILE, SETTING, JaasError, Token, tokens_of

__all__ = [
    "OAUTHBEARER",
    "PLAIN",
    "SCRAM_SHA_256",
    "SCRAM_SHA_512",
    "SERVED_MECHANISMS",
    "JaasEntry",
    "JaasError",
    "has_users",
    "options_for",
    "parse_jaas_config",
    "parse_jaas_file",
    "plain_users",
    "server_entries",
]

PLAIN, SCRAM_SHA_256, SCRAM_SHA_512, OAUTHBEARER = "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"
_PACKAGE = "org.apache.kafka.common.security"
_SCRAM_MODULE = f"{_PACKAGE}.scram.ScramLoginModule"
_MODULE_OF = {
    PLAIN: f"{_PACKAGE}.plain.PlainLoginModule",
    SCRAM_SHA_256: _SCRAM_MODULE,
    SCRAM_SHA_512: _SCRAM_MODULE,
    OAUTHBEARER: f"{_PACKAGE}.oauthbearer.OAuthBearerLoginModule",
}
SERVED_MECHANISMS = tuple(_MODULE_OF)
_KERBEROS = "Krb5LoginModule"
_CLASS_NAME = re.compile(r"[\w.$]*LoginModule")

_FLAGS = ("required", "requisite", "sufficient", "optional")
_VARIABLE = re.compile(r"\$\{.*?\}", re.DOTALL)
_SERVER_SECTION = "KafkaServer"
_ZOOKEEPER_SECTION = "Client"
_USER_PREFIX = "user_"


@frozen
class JaasEntry:
    """A login module with its options, which hold passwords. ``flag`` is in lower case."""

    module: str
    flag: str
    options: Mapping[str, str] = field(repr=False)


def parse_jaas_config(text: str, mechanism: str) -> JaasEntry:
    """The one entry in a value of ``sasl.jaas.config`` that belongs to a mechanism. Raises JaasError."""
    reader = _Reader(tokens_of(text, SETTING))
    entries = []
    while not reader.is_at_end():
        entries.append(reader.entry())
    if len(entries) != 1:
        raise JaasError(f"it must name one login module, not {len(entries)}")
    (entry,) = entries
    if entry.module != _MODULE_OF.get(mechanism, entry.module):
        raise JaasError(f"it names {entry.module}, but {mechanism} needs {_MODULE_OF[mechanism]}")
    return entry


def parse_jaas_file(text: str) -> Mapping[str, tuple[JaasEntry, ...]]:
    """Section → its entries. Raises JaasError."""
    reader = _Reader(tokens_of(text, FILE))
    sections: dict[str, tuple[JaasEntry, ...]] = {}
    while not reader.is_at_end():
        name = reader.value("the name of a section")
        if name in sections:
            raise JaasError(f"section {name} is there twice")
        sections[name] = reader.section()
    if _ZOOKEEPER_SECTION in sections:
        raise JaasError(f"section {_ZOOKEEPER_SECTION} asks for SASL to ZooKeeper, which is not supported; remove it")
    return MappingProxyType(sections)


def server_entries(sections: Mapping[str, Sequence[JaasEntry]], listener_name: str) -> Sequence[JaasEntry]:
    """The entries for clients of a listener. Its own section replaces ``KafkaServer``. Raises JaasError."""
    own = f"{listener_name.lower()}.{_SERVER_SECTION}"
    for name in (own, _SERVER_SECTION):
        if name in sections:
            return sections[name]
    raise JaasError(f"it has neither section {own} nor {_SERVER_SECTION}")


def options_for(mechanism: str, entries: Iterable[JaasEntry]) -> Mapping[str, str] | None:
    """The options of a mechanism's module; None when no entry has the module. The first entry with a name wins."""
    found = [entry.options for entry in entries if entry.module == _MODULE_OF[mechanism]]
    if not found:
        return None
    return MappingProxyType({name: value for options in reversed(found) for name, value in options.items()})


def has_users(options: Mapping[str, str]) -> bool:
    """Whether an option names a user as `plain_users` reads it, though the module may be another one."""
    return any(name.startswith(_USER_PREFIX) for name in options)


def plain_users(options: Mapping[str, str]) -> dict[str, str]:
    """User → password, from the options `user_NAME="password"` of PlainLoginModule."""
    users = {name[len(_USER_PREFIX) :]: value for name, value in options.items() if name.startswith(_USER_PREFIX)}
    for name, password in users.items():
        if not name or not password:
            raise JaasError(f"option {_USER_PREFIX}{name}: neither the user nor the password may be empty")
    return users


class _Reader:
    """Reads entries from tokens. Each method raises JaasError, which names the line and shows no value."""

    def __init__(self, tokens: Iterable[Token]) -> None:
        self._tokens = list(tokens)
        self._next = 0

    def is_at_end(self) -> bool:
        return self._next == len(self._tokens)

    def section(self) -> tuple[JaasEntry, ...]:
        self._sign("{")
        entries = []
        while not self._skip("}"):
            entries.append(self.entry())
        self._sign(";")
        return tuple(entries)

    def entry(self) -> JaasEntry:
        module = self.value("a login module")
        _check_module(module)
        flag = self.value("a control flag").lower()
        if flag not in _FLAGS:
            raise self._error(f"the control flag behind {module} must be one of {', '.join(_FLAGS)}")
        options: dict[str, str] = {}
        while not self._skip(";"):
            name = self.value(f"an option of {module}, or ';'")
            self._sign("=", "behind the name of an option; put values in double quotes")
            options[name] = self.value(f"the value of option {name}; put it in double quotes")
            if _VARIABLE.search(options[name]):
                raise self._error(f"option {name} has ${{…}}, which nothing replaces; write the value itself")
        if module == _SCRAM_MODULE and options.get("tokenauth", "").lower() == "true":
            raise self._error("option tokenauth asks for delegation tokens, which are not supported")
        return JaasEntry(module, flag, MappingProxyType(options))

    def value(self, what: str) -> str:
        token = self._token(what)
        if token.value is None:
            raise self._error(f"expected {what}")
        return token.value

    def _sign(self, sign: str, where: str = "") -> None:
        if not self._skip(sign):
            raise self._error(" ".join(filter(None, (f"expected '{sign}'", where))))

    def _skip(self, sign: str) -> bool:
        """Whether the next token is ``sign``; it is read then."""
        if self.is_at_end():
            raise self._error(f"expected '{sign}' before the end")
        token = self._tokens[self._next]
        found = token.value is None and token.text == sign
        self._next += found
        return found

    def _token(self, what: str) -> Token:
        if self.is_at_end():
            raise self._error(f"expected {what} before the end")
        self._next += 1
        return self._tokens[self._next - 1]

    def _error(self, what: str) -> JaasError:
        line = self._tokens[min(self._next, len(self._tokens) - 1)].line if self._tokens else 1
        return JaasError(f"line {line}: {what}")


def _check_module(module: str) -> None:
    if module in _MODULE_OF.values():
        return
    name = module if _CLASS_NAME.fullmatch(module) else "(its name is not shown, because it may be a password)"
    if module.endswith(_KERBEROS):
        raise JaasError(f"login module {name} is for GSSAPI (Kerberos), which is not supported")
    raise JaasError(
        f"login module {name} is not supported; supported are {', '.join(dict.fromkeys(_MODULE_OF.values()))}"
    )
