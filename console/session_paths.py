"""The paths of logins: who am I, log in, log out."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..client.asynchronous.connection import open_async_connection
from ..protocol.client import Credentials
from ..protocol.client.sasl import PLAIN, SCRAM
from ..protocol.messages.sasl_handshake import SaslHandshakeRequest
from .audit_log import audit
from .console import COOKIE, Console, answered
from .http.bodies import json_body, text_field
from .http.replies import HttpProblem, json_reply
from .sessions import LONGEST_S, Session

_MECHANISMS_S, _NO_MECHANISMS_S = 60.0, 5.0
_MAX_CHARACTERS = 256


def session_paths(console: Console) -> list[Route]:
    """All paths of logins."""
    paths = _SessionPaths(console)
    return [
        Route("/api/session", answered(paths.show), methods=["GET"]),
        Route("/api/session", answered(paths.login), methods=["POST"]),
        Route("/api/session", answered(paths.logout), methods=["DELETE"]),
    ]


class _SessionPaths:
    """One method a request."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._mechanisms: list[str] | None = None
        self._asked_s = float("-inf")

    async def show(self, request: Request) -> Response:
        return json_reply(await self._session(self._console.session_of(request)))

    async def login(self, request: Request) -> Response:
        if not self._console.sessions.needs_login:
            raise HttpProblem(400, "this console asks for no login")
        body = await json_body(request)
        mechanism, user = text_field(body, "mechanism"), text_field(body, "user")
        password = text_field(body, "password")
        if mechanism not in (PLAIN, *SCRAM):
            raise HttpProblem(400, f"the mechanism must be one of {', '.join((PLAIN, *SCRAM))}")
        if max(len(user), len(password)) > _MAX_CHARACTERS or "\0" in user + password:
            raise HttpProblem(400, "the user or the password is too long, or has a null character")
        try:
            token, session = await self._console.sessions.login(Credentials(mechanism, user, password))
        except HttpProblem as problem:
            audit(user, "refused login", status=problem.status)
            raise
        audit(user, "login")
        reply = json_reply(await self._session(session))
        reply.set_cookie(
            COOKIE,
            token,
            max_age=int(LONGEST_S),
            path="/",
            httponly=True,
            samesite="strict",
            secure=self._console.settings.is_https,
        )
        return reply

    async def logout(self, request: Request) -> Response:
        self._console.sessions.logout(request.cookies.get(COOKIE))
        reply = Response(status_code=204)
        reply.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
        return reply

    async def _session(self, session: Session | None) -> dict[str, Any]:
        settings = self._console.settings
        cluster_id = None
        if session is not None:
            try:
                cluster_id = (await session.cluster.metadata([])).cluster_id
            except OSError:
                cluster_id = None
        return {
            "login": "none" if not settings.needs_login else "needed" if session is None else "done",
            "user": None if session is None else session.user,
            "mechanisms": await self._offered() if settings.needs_login and session is None else [],
            "cluster_id": cluster_id,
            "bootstrap_servers": settings.bootstrap,
            "writes": settings.allow_writes,
            "records": not settings.hide_records,
            "masked": list(settings.masks),
            "source": "v1" if settings.v1_urls else "kafka",
            "expires_ms": round(session.ends_s() * 1000) if session is not None and settings.needs_login else None,
            "version": _version(),
        }

    async def _offered(self) -> list[str]:
        """The mechanisms that the cluster and the console have, asked once a minute, and sooner if there are none."""
        now_s = asyncio.get_running_loop().time()
        if self._mechanisms is None or now_s - self._asked_s > (
            _MECHANISMS_S if self._mechanisms else _NO_MECHANISMS_S
        ):
            self._asked_s = now_s
            found = await _mechanisms(self._console)
            self._mechanisms = [each for each in (*reversed(SCRAM), PLAIN) if each in found]
        return self._mechanisms


async def _mechanisms(console: Console) -> list[str]:
    """Asks the first broker that answers for a mechanism that no cluster has: the refusal lists those it has."""
    client = console.settings.client
    bare = replace(client, security=replace(client.security, sasl=None), connect_timeout_ms=5_000)
    for host, port in client.bootstrap_servers:
        with suppress(OSError, TimeoutError):
            connection = await open_async_connection(host, port, bare, 1 << 20)
            try:
                return list((await connection.ask(SaslHandshakeRequest(mechanism="-"), 5_000)).mechanisms)
            finally:
                connection.close()
    return []


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("pybroker")
    except PackageNotFoundError:
        return ""
