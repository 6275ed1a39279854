"""Tests of the requests of a login: what the client learns about the session's end."""

import pytest
from pybroker.protocol.client import BearerToken, ClientConnection, Credentials, SaslLogin
from pybroker.protocol.client.opening import login_requests, opening_requests
from pybroker.protocol.errors import ErrorCode, SaslAuthenticationError
from pybroker.protocol.messages.api_versions import ApiVersionsResponse
from pybroker.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from pybroker.protocol.messages.sasl_handshake import SaslHandshakeResponse

PLAIN = SaslLogin(Credentials("PLAIN", "u", "p"), "")


def test_login_returns_the_lifetime_of_the_session() -> None:
    requests = login_requests(PLAIN)
    next(requests)
    assert requests.send(SaslHandshakeResponse()) == SaslAuthenticateRequest(auth_bytes=b"\0u\0p")
    with pytest.raises(StopIteration) as end:
        requests.send(SaslAuthenticateResponse(session_lifetime_ms=5000))
    assert end.value.value == 5000


def test_opening_notes_the_lifetime_of_the_session_on_the_connection() -> None:
    connection = ClientConnection("test", 1000)
    assert connection.session_lifetime_ms == 0
    requests = opening_requests(connection, PLAIN)
    next(requests)
    requests.send(ApiVersionsResponse())
    requests.send(SaslHandshakeResponse())
    with pytest.raises(StopIteration):
        requests.send(SaslAuthenticateResponse(session_lifetime_ms=7))
    assert connection.session_lifetime_ms == 7


def test_refused_token_gives_the_error_of_the_broker() -> None:
    requests = login_requests(SaslLogin(BearerToken("e30.e30.c2ln"), ""))
    next(requests)
    requests.send(SaslHandshakeResponse())
    reply = requests.send(SaslAuthenticateResponse(auth_bytes=b'{"status":"invalid_token"}'))
    assert reply == SaslAuthenticateRequest(auth_bytes=b"\x01")
    failed = SaslAuthenticateResponse(error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message="invalid_token")
    with pytest.raises(SaslAuthenticationError, match="invalid_token"):
        requests.send(failed)
