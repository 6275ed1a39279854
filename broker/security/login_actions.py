"""The actions that the login gate asks of a connection, and the rules of a listener that the gate applies."""

from collections.abc import Callable, Mapping
from dataclasses import field
from enum import Enum

from ...base.frozen import frozen
from ...protocol.apis import API_SPECS, ApiKey
from ...protocol.codec.schema import VersionRange
from .principal import Principal
from .sasl.sasl_server import SaslServer

__all__ = ["Action", "Admission", "Answer", "Authenticated", "Close", "LoginRules", "Mechanism", "PassOn"]


@frozen
class Mechanism:
    """``new_server`` begins an exchange. ``max_reauth_ms``: how long a login lasts (KIP-368); 0 or less: for ever."""

    new_server: Callable[[], SaslServer]
    max_reauth_ms: int


@frozen
class LoginRules:
    """The rules of one listener.

    Attributes:
        mechanisms: the mechanisms that are enabled, by name.
        max_receive_bytes: ``sasl.server.max.receive.size``, the longest frame before a login.
        failure_delay_ms: ``connection.failed.authentication.delay.ms``.
        api_versions: the versions of ApiVersions that are served. After others the client may ask once more.
    """

    mechanisms: Mapping[str, Mechanism]
    max_receive_bytes: int
    failure_delay_ms: int
    api_versions: VersionRange = API_SPECS[ApiKey.API_VERSIONS].versions


@frozen
class Answer:
    """Send a frame now. ``frame`` lacks its size; it is a response with header, or a raw SASL token."""

    frame: bytes = field(repr=False)


@frozen
class PassOn:
    """The dispatcher answers this request, which is ApiVersions."""


@frozen
class Authenticated:
    """The client is ``principal`` from now on. ``ends_at_ms``: monotonic clock at the session's end; None: no end."""

    principal: Principal
    mechanism: str
    ends_at_ms: int | None


@frozen
class Close:
    """Read no more, drop all buffers, and after ``delay_ms`` send ``frame``, if there is one, and close.

    ``reason`` is for the log; it contains no secrets, and names from the client are quoted.
    """

    reason: str
    delay_ms: int = 0
    frame: bytes | None = field(default=None, repr=False)


Action = Answer | PassOn | Authenticated | Close


class Admission(Enum):
    """The verdict about a request of a client that has logged in."""

    DISPATCH = "to the dispatcher"
    LOG_IN_AGAIN = "finish the requests under way, then give the frame to the gate"
    CLOSE = "the session has ended: close at once"
