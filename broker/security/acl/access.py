"""Decides whether a client may do something, and logs the verdict (Kafka's AuthHelper with its authorizer)."""

import logging
from collections.abc import Mapping

from ....base.acl_rules.authorizer import AclAuthorizer, Explanation
from ....base.acl_rules.host_text import host_text
from ....base.acl_rules.question import AclQuestion
from ....base.acls import AclOperation, AclResourceType, PatternType
from .authorizer_log import TRACE, AuthorizerLog, logger
from .verdicts import Question, Verdicts

__all__ = ["Access"]

_NO_NAME = "NONE"
"""Kafka's name in the log of a question about any resource of a type."""
_NO_API = -1


class Access:
    """The authorizer of requests. ``host`` in all calls: the client's address in any form; ``api_key``: that of the
    request, for the log."""

    def __init__(self, authorizer: AclAuthorizer, log: AuthorizerLog) -> None:
        self._authorizer = authorizer
        self._verdicts = Verdicts(authorizer)
        self._log = log
        self.known: Mapping[Question, bool] = {}
        """Verdicts; an allowed one here needs no line in the log."""
        self.log_level_changed()

    def log_level_changed(self) -> None:
        """Find out whether allowed accesses are logged."""
        self.known = {} if logger.isEnabledFor(logging.DEBUG) else self._verdicts.remembered

    def explain(self, question: AclQuestion) -> Explanation:
        """The verdict with the rule that decides. Nothing is logged, because nobody tries to do it."""
        return self._authorizer.explain(*question)

    def may(
        self,
        principal: object,
        host: str,
        operation: AclOperation,
        resource_type: AclResourceType,
        name: str,
        *,
        is_quiet: bool = False,
        api_key: int = _NO_API,
        count: int = 1,
    ) -> bool:
        """``is_quiet``: a denial is not logged, because another right may do. ``count``: mentions in the request."""
        verdict = self._verdicts.may(principal, host, operation, resource_type, name)
        level = logging.DEBUG if verdict else TRACE if is_quiet else logging.INFO
        if logger.isEnabledFor(level):
            self._log.verdict(
                level,
                principal,
                host_text(host),
                operation,
                resource_type,
                name,
                api_key=api_key,
                count=count,
                is_allowed=verdict,
            )
        return verdict

    def may_by_resource_type(
        self,
        principal: object,
        host: str,
        operation: AclOperation,
        resource_type: AclResourceType,
        *,
        api_key: int = _NO_API,
    ) -> bool:
        """Whether the principal may do the operation with at least one resource of the type."""
        verdict = self._authorizer.may_by_resource_type(principal, host_text(host), operation, resource_type)
        level = logging.DEBUG if verdict else logging.INFO
        if logger.isEnabledFor(level):
            self._log.verdict(
                level,
                principal,
                host_text(host),
                operation,
                resource_type,
                _NO_NAME,
                api_key=api_key,
                count=0,
                is_allowed=verdict,
                pattern_type=PatternType.UNKNOWN,
            )
        return verdict
