"""The interface of SASL mechanisms: messages of the client go in, challenges or a login come out."""

from typing import NamedTuple, Protocol

from ....base.frozen import frozen
from ..principal import Principal

__all__ = ["Challenge", "Login", "LoginFailedError", "SaslServer", "quoted", "sent_back"]

_SHOWN_CHARACTERS = 100


class Login(NamedTuple):
    """A successful login. ``expires_at_ms``: wall clock at which the credential ends; None: never."""

    principal: Principal
    expires_at_ms: int | None = None


@frozen
class Challenge:
    """The message for the client; ``login`` is set when the exchange is complete."""

    message: bytes
    login: Login | None = None


class LoginFailedError(Exception):
    """A login failed. ``reason`` is for the log, with names from the client in quotes and without secrets.

    ``told``: the text for the client; None: one text for all causes, so that an outsider learns nothing.
    """

    def __init__(self, reason: str, told: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.told = told


def quoted(name: str) -> str:
    """A name from a client for the log: on one line and not too long."""
    return repr(_cut(name))


def sent_back(name: str) -> str:
    """A name from a client for a text to the client: not too long, and without characters that UTF-8 lacks."""
    return _cut(name).encode(errors="replace").decode()


def _cut(name: str) -> str:
    return name if len(name) <= _SHOWN_CHARACTERS else f"{name[:_SHOWN_CHARACTERS]}…"


class SaslServer(Protocol):
    """One exchange of one mechanism."""

    def evaluate(self, message: bytes, now_ms: int) -> Challenge:
        """The reply to a message. ``now_ms`` is the wall clock. Raises LoginFailedError; the exchange is over then."""
