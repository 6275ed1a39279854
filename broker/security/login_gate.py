"""The login of one connection: a state machine from frames to actions, without I/O and without a clock.

**How.** Before the login each frame comes here, not to the dispatcher. After it, `admit` sends SaslHandshake requests
of sessions that end back to `frame`: the client logs in again (KIP-368).

**Limits.** Only ApiVersions, SaslHandshake and SaslAuthenticate requests are decoded before a login. The response
to a failed login comes after a delay, so that guessing is slow.
"""

from enum import Enum
from struct import Struct

from ...base.kafka_names import SOFTWARE_NAME
from ...protocol.apis import API_SPECS, ApiKey
from ...protocol.codec import DecodeError, Message, decode_prefix, encode
from ...protocol.errors import ErrorCode
from ...protocol.messages.api_versions import ApiVersionsRequest
from ...protocol.messages.headers import RequestHeader, ResponseHeader
from ...protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from ...protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from .login_actions import Action, Admission, Answer, Authenticated, Close, LoginRules, PassOn
from .sasl.sasl_server import Challenge, Login, LoginFailedError, SaslServer, quoted, sent_back

__all__ = ["LoginGate", "session_lifetime_ms"]

_HEAD = Struct(">hhi")  # API, version, correlation id
_MAX_ELEMENTS = 16
_FIRST_WITH_SOFTWARE_NAME = 3
_LEAST_MS_BETWEEN_LOGINS = 1000


class _State(Enum):
    FIRST = "ApiVersions or SaslHandshake"
    HANDSHAKE = "SaslHandshake"
    RAW_TOKENS = "a SASL token"
    TOKENS = "SaslAuthenticate"
    OPEN = "any request"
    OTHER_MECHANISM = "nothing, because the mechanism was changed"
    OVER = "nothing"


_APIS_OF = {
    _State.FIRST: (ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE),
    _State.HANDSHAKE: (ApiKey.SASL_HANDSHAKE,),
    _State.TOKENS: (ApiKey.SASL_AUTHENTICATE,),
    _State.OPEN: (ApiKey.SASL_HANDSHAKE,),
}
"""The requests that `LoginGate.frame` takes in each state; in `OPEN` they begin another login."""
_LOGIN_APIS = (ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE)


def session_lifetime_ms(max_reauth_ms: int, expires_at_ms: int | None, wall_ms: int) -> int | None:
    """How long a login lasts; None: for ever. A credential that has expired already ends it at once (KAFKA-13848)."""
    limits = [max_reauth_ms] if max_reauth_ms > 0 else []
    if expires_at_ms is not None:
        limits.append(expires_at_ms - wall_ms)
    return max(1, min(limits)) if limits else None


class LoginGate:
    """The state of one connection.

    Times are ms: ``now_ms`` of a monotonic clock, ``wall_ms`` of the wall clock, which credentials refer to.
    """

    __slots__ = ("_began_again_ms", "_known", "_mechanism", "_rules", "_server", "_state")

    def __init__(self, rules: LoginRules) -> None:
        self._rules = rules
        self._state = _State.FIRST
        self._mechanism = ""
        self._server: SaslServer | None = None
        self._known: Authenticated | None = None
        self._began_again_ms: int | None = None

    @property
    def max_frame_bytes(self) -> int | None:
        """The longest frame that may come next; None: the limit for all requests applies."""
        return None if self._state is _State.OPEN else self._rules.max_receive_bytes

    @property
    def is_open(self) -> bool:
        """Whether requests go to `admit`, and not to `frame`."""
        return self._state is _State.OPEN

    def admit(self, api_key: int, now_ms: int) -> Admission:
        """The verdict about a request while `is_open`.

        A second login within a second goes to the dispatcher, which answers ILLEGAL_SASL_STATE.
        """
        ends_at_ms = None if self._known is None else self._known.ends_at_ms
        if ends_at_ms is None:
            return Admission.DISPATCH
        if api_key == ApiKey.SASL_HANDSHAKE:
            began_ms = self._began_again_ms
            if began_ms is None or now_ms - began_ms >= _LEAST_MS_BETWEEN_LOGINS:
                return Admission.LOG_IN_AGAIN
        return Admission.CLOSE if now_ms > ends_at_ms else Admission.DISPATCH

    def expects(self, api_key: int, now_ms: int) -> bool:
        """Whether the next frame, if it is a request of this API, is a step of a login; False also for raw tokens."""
        if self.is_open:
            return self.admit(api_key, now_ms) is Admission.LOG_IN_AGAIN
        return api_key in _APIS_OF.get(self._state, ())

    def frame(self, frame: bytes | bytearray, *, now_ms: int, wall_ms: int) -> tuple[Action, ...]:
        """The actions for a frame, in order. After `Close` every frame gives another one."""
        try:
            return self._step(frame, now_ms, wall_ms)
        except DecodeError as error:
            return (self._close(f"a request could not be decoded: {error}"),)
        except _UnexpectedError as error:
            return (self._close(str(error)),)

    def _step(self, frame: bytes | bytearray, now_ms: int, wall_ms: int) -> tuple[Action, ...]:
        if self._state is _State.RAW_TOKENS:
            return self._raw_token(bytes(frame), now_ms, wall_ms)
        if self._state is _State.OTHER_MECHANISM:
            return (self._fail("the mechanism was changed in another login"),)
        if self._state is _State.OVER:
            return (self._close("a frame came after the end"),)
        key, version, correlation_id = self._expected_api(frame)
        if key is ApiKey.API_VERSIONS:
            return self._api_versions(frame, version)
        body = _body(frame, key, version)
        if isinstance(body, SaslHandshakeRequest):
            return self._handshake(body, version, correlation_id, now_ms)
        assert isinstance(body, SaslAuthenticateRequest)
        return self._authenticate(bytes(body.auth_bytes), version, correlation_id, now_ms, wall_ms)

    def _expected_api(self, frame: bytes | bytearray) -> tuple[ApiKey, int, int]:
        """API, version and correlation id. Raises _UnexpectedError when the state does not take the request."""
        if len(frame) < _HEAD.size:
            raise _UnexpectedError(f"{len(frame)} bytes came, which are no request; expected {self._state.value}")
        key, version, correlation_id = _HEAD.unpack_from(frame)
        if key not in _APIS_OF[self._state]:
            raise _UnexpectedError(_unexpected(key, self._state))
        spec = API_SPECS[ApiKey(key)]
        if spec.key is not ApiKey.API_VERSIONS and not spec.min_version <= version <= spec.max_version:
            raise _UnexpectedError(f"{spec.name} came in version {version}, which is not served")
        return spec.key, version, correlation_id

    def _api_versions(self, frame: bytes | bytearray, version: int) -> tuple[Action, ...]:
        """A client may ask again if its version is not served or it names its software wrongly, otherwise not."""
        if version in self._rules.api_versions:
            request = _body(frame, ApiKey.API_VERSIONS, version)
            assert isinstance(request, ApiVersionsRequest)
            if version < _FIRST_WITH_SOFTWARE_NAME or _names_its_software(request):
                self._state = _State.HANDSHAKE
        return (PassOn(),)

    def _handshake(
        self, request: SaslHandshakeRequest, version: int, correlation_id: int, now_ms: int
    ) -> tuple[Action, ...]:
        response = SaslHandshakeResponse(mechanisms=list(self._rules.mechanisms))
        mechanism = self._rules.mechanisms.get(request.mechanism)
        if mechanism is None:
            response.error_code = ErrorCode.UNSUPPORTED_SASL_MECHANISM
            answer = _response(ApiKey.SASL_HANDSHAKE, version, correlation_id, response)
            return (self._fail(f"mechanism {quoted(request.mechanism)} is not enabled", answer),)
        if self._known is not None:
            self._began_again_ms = now_ms
        if self._known is not None and self._known.mechanism != request.mechanism:
            self._state = _State.OTHER_MECHANISM
        else:
            self._mechanism, self._server = request.mechanism, mechanism.new_server()
            self._state = _State.TOKENS if version else _State.RAW_TOKENS
        return (Answer(_response(ApiKey.SASL_HANDSHAKE, version, correlation_id, response)),)

    def _raw_token(self, token: bytes, now_ms: int, wall_ms: int) -> tuple[Action, ...]:
        """After SaslHandshake v0. A failure is not answered."""
        try:
            challenge = self._evaluate(token, wall_ms)
        except LoginFailedError as error:
            return (self._fail(error.reason),)
        if challenge.login is None:
            return (Answer(challenge.message),)
        known, _ = self._logged_in(challenge.login, now_ms, wall_ms)
        return Answer(challenge.message), known

    def _authenticate(
        self, token: bytes, version: int, correlation_id: int, now_ms: int, wall_ms: int
    ) -> tuple[Action, ...]:
        response = SaslAuthenticateResponse()
        known: tuple[Action, ...] = ()
        try:
            challenge = self._evaluate(token, wall_ms)
            response.auth_bytes = challenge.message
            if challenge.login is not None:
                authenticated, response.session_lifetime_ms = self._logged_in(challenge.login, now_ms, wall_ms)
                known = (authenticated,)
        except LoginFailedError as error:
            response = SaslAuthenticateResponse(
                error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=error.told or self._common_text()
            )
            answer = _response(ApiKey.SASL_AUTHENTICATE, version, correlation_id, response)
            return (self._fail(error.reason, answer),)
        return Answer(_response(ApiKey.SASL_AUTHENTICATE, version, correlation_id, response)), *known

    def _evaluate(self, token: bytes, wall_ms: int) -> Challenge:
        """Raises LoginFailedError, also when another login would change the principal."""
        assert self._server is not None
        challenge = self._server.evaluate(token, wall_ms)
        before = self._known
        if challenge.login is not None and before is not None and challenge.login.principal != before.principal:
            old, new = before.principal, challenge.login.principal
            told = (
                f"Cannot change principals during re-authentication from {old.type}.{sent_back(old.name)}: "
                f"{new.type}.{sent_back(new.name)}"
            )
            raise LoginFailedError(f"the principal was changed from {quoted(str(old))} to {quoted(str(new))}", told)
        return challenge

    def _logged_in(self, login: Login, now_ms: int, wall_ms: int) -> tuple[Authenticated, int]:
        """Opens the gate; returns who the client is, and the lifetime that the client is told, 0 without end."""
        max_reauth_ms = self._rules.mechanisms[self._mechanism].max_reauth_ms
        lifetime_ms = session_lifetime_ms(max_reauth_ms, login.expires_at_ms, wall_ms)
        ends_at_ms = None if lifetime_ms is None else now_ms + lifetime_ms
        self._known = Authenticated(login.principal, self._mechanism, ends_at_ms)
        self._state, self._server = _State.OPEN, None
        return self._known, lifetime_ms or 0

    def _common_text(self) -> str:
        """Kafka's text for every cause that an outsider should not know."""
        kind = "authentication" if self._known is None else "re-authentication"
        return f"Authentication failed during {kind} due to invalid credentials with SASL mechanism {self._mechanism}"

    def _fail(self, reason: str, frame: bytes | None = None) -> Close:
        return self._close(reason, self._rules.failure_delay_ms, frame)

    def _close(self, reason: str, delay_ms: int = 0, frame: bytes | None = None) -> Close:
        self._state, self._server = _State.OVER, None
        return Close(reason, delay_ms, frame)


class _UnexpectedError(Exception):
    """The state does not take these bytes."""


def _unexpected(key: int, state: _State) -> str:
    """The reason for the log when the state does not take an API."""
    spec = next((each for each in API_SPECS.values() if each.key == key), None)
    name = f"API {key}" if spec is None else spec.name
    if spec is not None and spec.key not in _LOGIN_APIS and state in (_State.FIRST, _State.HANDSHAKE):
        return f"{name} came before a login: set security.protocol=SASL_… and sasl.mechanism on the client"
    return f"{name} came; expected {state.value}"


def _body(frame: bytes | bytearray, key: ApiKey, version: int) -> Message:
    """The body of a request. Raises DecodeError."""
    spec = API_SPECS[key]
    _, offset = decode_prefix(RequestHeader, frame, spec.request_header_version(version), 0, _MAX_ELEMENTS)
    message, _ = decode_prefix(spec.request_type(), frame, version, offset, _MAX_ELEMENTS)
    return message


def _response(key: ApiKey, version: int, correlation_id: int, response: Message) -> bytes:
    header_version = API_SPECS[key].response_header_version(version)
    return encode(ResponseHeader(correlation_id=correlation_id), header_version) + encode(response, version)


def _names_its_software(request: ApiVersionsRequest) -> bool:
    names = (request.client_software_name, request.client_software_version)
    return all(SOFTWARE_NAME.fullmatch(name) is not None for name in names)
