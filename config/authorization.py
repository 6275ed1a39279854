"""Which authorizer the settings ask for, and its settings (Kafka's AclAuthorizer).

Kafka's authorizer reads ``super.users`` and ``allow.everyone.if.no.acl.found`` outside the table of settings; so does
this file.
"""

import re
from collections.abc import Iterator

from ..base.frozen import frozen
from .certificate_names import misspelt_certificate_name
from .config import Config
from .config_error import ConfigError
from .values import trim

__all__ = [
    "ACL_AUTHORIZER",
    "ALLOW_EVERYONE",
    "SUPER_USERS",
    "AuthorizationSettings",
    "misspelt_super_users",
    "warning_of_open_store",
]

ACL_AUTHORIZER = "kafka.security.authorizer.AclAuthorizer"
_KRAFT_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
AUTHORIZER = "authorizer.class.name"
_MAPPING_RULES = "ssl.principal.mapping.rules"
SUPER_USERS = "super.users"
ALLOW_EVERYONE = "allow.everyone.if.no.acl.found"
_USER = "User:"
_PRINCIPAL_AFTER_COMMA = re.compile(r",\s*User:")


@frozen
class AuthorizationSettings:
    """``super_users`` in the form ``User:name``; ``allow_everyone``: to resources to which no ACL applies."""

    super_users: frozenset[str]
    allow_everyone: bool

    @classmethod
    def from_config(cls, config: Config) -> "AuthorizationSettings | None":
        """The settings; None without an authorizer.

        Raises:
            ConfigError: another authorizer, settings of an authorizer without one, or a super user that cannot exist.
        """
        class_name = trim(config.string(AUTHORIZER))
        if not class_name:
            _refuse_without_authorizer(config)
            return None
        if class_name != ACL_AUTHORIZER:
            hint = "it works in KRaft mode only; " if class_name == _KRAFT_AUTHORIZER else ""
            raise ConfigError(f"{config.shown(AUTHORIZER)}: {hint}the only authorizer is {ACL_AUTHORIZER}")
        return cls(_super_users(config), _allows_everyone(config))


def warning_of_open_store(config: Config) -> str | None:
    """A line for the log of a broker with an authorizer whose ACLs anyone can change in ZooKeeper; None if not so."""
    is_protected = config.boolean("zookeeper.set.acl") or config.boolean("zookeeper.ssl.client.enable")
    if config.uses_embedded_store or is_protected:
        return None
    return (
        f"everyone who can connect to ZooKeeper at {config.string('zookeeper.connect')} can change ACLs: protect it "
        "with zookeeper.set.acl=true and authentication, or with TLS (zookeeper.ssl.client.enable=true)"
    )


def misspelt_super_users(config: Config, super_users: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Super users that look like names of certificates, but as Java never prints them; and for each what to do.

    They do not stop the start, because a user of SASL may have such a name. Mapping rules can make any name, so with
    them there are none.
    """
    rules = [given.text for name, given in config.given.items() if name.lower().endswith(_MAPPING_RULES)]
    if any(trim(text) not in ("", "DEFAULT") for text in rules):
        return
    for user in sorted(super_users):
        likely = misspelt_certificate_name(user.removeprefix(_USER))
        if likely is not None:
            yield (
                user,
                f"write {_USER}{likely}" if likely else "the authorizer's log names clients as they must be named",
            )


def _refuse_without_authorizer(config: Config) -> None:
    for name in (SUPER_USERS, ALLOW_EVERYONE):
        if _text(config, name) is not None:
            raise ConfigError(f"{_shown(config, name)}: it protects nothing without {AUTHORIZER}={ACL_AUTHORIZER}")


def _super_users(config: Config) -> frozenset[str]:
    text = _text(config, SUPER_USERS)
    if not text:
        return frozenset()
    users = [trim(user) for user in text.rstrip(";").split(";")]
    for user in users:
        reason = _why_nobody_is(user)
        if reason is not None:
            raise ConfigError(f"{_shown(config, SUPER_USERS)}: nobody can be {user!r}: {reason}")
    return frozenset(users)


def _why_nobody_is(user: str) -> str | None:
    """The reason why no client can ever be this principal; None if a client can."""
    if not user.startswith(_USER) or user == _USER:
        return "a super user must have the form User:name"
    if user[len(_USER)].isspace():
        return "remove the blank after User:"
    if user == "User:*":
        return "it would be a user whose name is *, not everyone"
    if _PRINCIPAL_AFTER_COMMA.search(user):
        return "super users are separated by semicolons, because names of certificates contain commas"
    return None


def _allows_everyone(config: Config) -> bool:
    text = _text(config, ALLOW_EVERYONE)
    if text is None:
        return False
    text = text.lower()
    if text not in ("true", "false"):
        raise ConfigError(f"{_shown(config, ALLOW_EVERYONE)}: must be true or false")
    return text == "true"


def _text(config: Config, name: str) -> str | None:
    """The value given at the start. A client that may change the broker's dynamic settings must not add super users."""
    given = config.static.get(name)
    return None if given is None else trim(given.text)


def _shown(config: Config, name: str) -> str:
    given = config.static[name]
    return f"{given.name or name}={trim(given.text)} ({given.place})"
