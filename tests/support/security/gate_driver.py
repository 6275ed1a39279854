"""Drives a login gate in tests: builds frames, reads answers, and knows one user per mechanism."""

from typing import Any

from pybroker.broker.security.login_actions import Action, Answer, LoginRules, Mechanism
from pybroker.broker.security.login_gate import LoginGate
from pybroker.broker.security.principal import Principal
from pybroker.broker.security.sasl.plain import PlainServer, PlainUsers
from pybroker.broker.security.sasl.sasl_server import Challenge, Login, LoginFailedError
from pybroker.broker.security.sasl.scram import ScramServer
from pybroker.broker.security.sasl.scram_credential import ScramCredential
from pybroker.broker.security.sasl.scram_users import ScramUsers
from pybroker.protocol.apis import API_SPECS, ApiKey
from pybroker.protocol.codec import Message, decode, decode_prefix, encode
from pybroker.protocol.messages.api_versions import ApiVersionsRequest
from pybroker.protocol.messages.headers import RequestHeader, ResponseHeader
from pybroker.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from pybroker.protocol.messages.sasl_handshake import SaslHandshakeRequest
from pybroker.protocol.scram import SCRAM_MECHANISMS

DELAY_MS = 100
MAX_RECEIVE_BYTES = 1000
ALICE = Principal("User", "alice")
PLAIN_TOKEN = b"\0alice\0secret"

_SHA_256 = SCRAM_MECHANISMS["SCRAM-SHA-256"]
_SCRAM_USERS = ScramUsers(b"secret")
_SCRAM_USERS.set_user("alice", {_SHA_256.name: ScramCredential.of_password(_SHA_256, "secret", b"salt", 4096)})
_PLAIN_USERS = PlainUsers({"alice": "secret", "bob": "word"})


class TokenServer:
    """A stand-in for OAUTHBEARER: the message is the wall clock at which the credential ends."""

    def evaluate(self, message: bytes, now_ms: int) -> Challenge:
        if not message.isdigit():
            raise LoginFailedError("no number")
        return Challenge(b"", Login(ALICE, int(message)))


def rules(max_reauth_ms: int = 0) -> LoginRules:
    mechanisms = {
        "PLAIN": Mechanism(lambda: PlainServer(_PLAIN_USERS), max_reauth_ms),
        "SCRAM-SHA-256": Mechanism(lambda: ScramServer(_SHA_256, _SCRAM_USERS, "nonce"), max_reauth_ms),
        "TOKEN": Mechanism(TokenServer, max_reauth_ms),
    }
    return LoginRules(mechanisms, MAX_RECEIVE_BYTES, DELAY_MS)


def request(body: Message, version: int, correlation_id: int = 7) -> bytes:
    key = type(body).MESSAGE.api_key
    assert key is not None
    header = RequestHeader(
        request_api_key=key, request_api_version=version, correlation_id=correlation_id, client_id="c"
    )
    return encode(header, API_SPECS[ApiKey(key)].request_header_version(version)) + encode(body, version)


def api_versions(version: int = 3, name: str = "test") -> bytes:
    named = ApiVersionsRequest(client_software_name=name, client_software_version="1")
    return request(named if version >= 3 else ApiVersionsRequest(), version)


def handshake(mechanism: str, version: int = 1) -> bytes:
    return request(SaslHandshakeRequest(mechanism=mechanism), version)


def token(auth_bytes: bytes, version: int = 2) -> bytes:
    return request(SaslAuthenticateRequest(auth_bytes=auth_bytes), version)


def answer(frame: bytes, key: ApiKey, version: int) -> Any:
    """The response in a frame, which must answer the request with correlation id 7."""
    spec = API_SPECS[key]
    header, offset = decode_prefix(ResponseHeader, frame, spec.response_header_version(version))
    assert header.correlation_id == 7
    return decode(spec.response_type(), frame, version, offset=offset)


class Driver:
    """A gate with two clocks."""

    def __init__(self, max_reauth_ms: int = 0) -> None:
        self.gate = LoginGate(rules(max_reauth_ms))
        self.now_ms, self.wall_ms = 5000, 1_000_000

    def send(self, frame: bytes) -> tuple[Action, ...]:
        return self.gate.frame(frame, now_ms=self.now_ms, wall_ms=self.wall_ms)

    def shake(self, mechanism: str, version: int = 1) -> Any:
        (action,) = self.send(handshake(mechanism, version))
        assert isinstance(action, Answer)
        return answer(action.frame, ApiKey.SASL_HANDSHAKE, version)

    def log_in(self, auth_bytes: bytes = PLAIN_TOKEN, mechanism: str = "PLAIN") -> Any:
        """Returns the last response and the `Authenticated`."""
        self.shake(mechanism)
        said, known = self.send(token(auth_bytes))
        assert isinstance(said, Answer)
        return answer(said.frame, ApiKey.SASL_AUTHENTICATE, 2), known

    def advance(self, elapsed_ms: int) -> None:
        self.now_ms += elapsed_ms
        self.wall_ms += elapsed_ms
