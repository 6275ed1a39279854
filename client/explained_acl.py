"""Decides as a broker's authorizer does, by the ACLs that Kafka's protocol tells, and names the rule that decides.

**Limits.** Brokers may keep the values of ``super.users`` and ``allow.everyone.if.no.acl.found`` secret. Where the
latter decides, the verdict is unknown; where the former could change the verdict, a doubt says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from ..base.acl_rules.acl_index import AclIndex
from ..base.acl_rules.authorizer import WITHOUT_AUTHORIZER, AclAuthorizer, DecidedBy, Explanation
from ..base.acl_rules.question import AclQuestion
from ..base.acls import AclBinding, AclEntry, ResourcePattern
from ..views.explanations import AclExplanation, acl_explanation
from ..views.source import API_VERSION, Source

__all__ = [
    "AUTHORIZER_SETTINGS",
    "UNTOLD_SETTINGS",
    "WITHOUT_ACLS",
    "AuthorizerSettings",
    "Judgement",
    "ToldSetting",
    "document_of",
    "judged",
]

_SUPER_USERS = "super.users"
_ALLOW_EVERYONE = "allow.everyone.if.no.acl.found"
AUTHORIZER_SETTINGS = (_SUPER_USERS, _ALLOW_EVERYONE)
_SOURCE = Source(api=API_VERSION, broker_id=None, cluster_id=None, time_ms=0)


class ToldSetting(NamedTuple):
    """A setting of a broker. ``is_secret``: it is set, and its value is not told."""

    name: str
    value: str | None
    is_secret: bool


class AuthorizerSettings(NamedTuple):
    """The settings of the authorizer that are known, and the names of those whose values the brokers keep secret."""

    super_users: frozenset[str] = frozenset()
    allow_everyone: bool = False
    secret: frozenset[str] = frozenset()

    @classmethod
    def among(cls, settings: Iterable[ToldSetting]) -> AuthorizerSettings:
        """Reads them among the settings of a broker. Kafka and pybroker list both when they are set."""
        by_name = {each.name: each for each in settings if each.name in AUTHORIZER_SETTINGS}
        values = {name: each.value or "" for name, each in by_name.items() if not each.is_secret}
        users = (each.strip() for each in values.get(_SUPER_USERS, "").split(";"))
        return cls(
            frozenset(each for each in users if each),
            values.get(_ALLOW_EVERYONE, "").strip().lower() == "true",
            frozenset(name for name, each in by_name.items() if each.is_secret),
        )


UNTOLD_SETTINGS = AuthorizerSettings(secret=frozenset(AUTHORIZER_SETTINGS))
"""The settings when the user may not see those of brokers."""


class Judgement(NamedTuple):
    """A verdict by the ACLs of a cluster.

    Attributes:
        allowed: None when a setting decides whose value the brokers keep secret.
        doubts: the settings that are kept secret and could change the verdict, a line each.
    """

    explanation: Explanation
    allowed: bool | None
    doubts: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """Why, without the rule that decides."""
        text = self.explanation.decided_by.value
        if self.explanation.decided_by is DecidedBy.NO_ACL and self.allowed is not None:
            return f"{text}: it is {str(self.allowed).lower()}"
        return text


WITHOUT_ACLS = Judgement(WITHOUT_AUTHORIZER, allowed=True)
"""The verdict of a cluster without an authorizer."""


def judged(question: AclQuestion, acls: Iterable[AclBinding], settings: AuthorizerSettings) -> Judgement:
    """The verdict. ``acls``: at least those that may apply to the resource."""
    by_pattern: dict[ResourcePattern, set[AclEntry]] = defaultdict(set)
    for pattern, entry in acls:
        by_pattern[pattern].add(entry)
    index = AclIndex({pattern: frozenset(entries) for pattern, entries in by_pattern.items()})
    authorizer = AclAuthorizer(index, settings.super_users, allow_everyone=settings.allow_everyone)
    explanation = authorizer.explain(*question)
    doubts = []
    allowed: bool | None = explanation.is_allowed
    if explanation.decided_by is DecidedBy.NO_ACL and _ALLOW_EVERYONE in settings.secret:
        allowed = None
        doubts.append(f"the brokers do not tell {_ALLOW_EVERYONE}")
    if not explanation.is_allowed and _SUPER_USERS in settings.secret:
        doubts.append(f"the brokers do not tell {_SUPER_USERS}, which may allow it all the same")
    return Judgement(explanation, allowed, tuple(doubts))


def document_of(question: AclQuestion, judgement: Judgement) -> AclExplanation:
    """The document that a broker gives under ``/v1``, with the doubts as further lines of its text."""
    view = acl_explanation(_SOURCE, question, judgement.explanation)
    first = view.text if judgement.allowed is not None else judgement.reason
    return replace(view, allowed=judgement.allowed, text="\n".join((first, *judgement.doubts)))
