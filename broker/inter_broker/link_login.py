"""The login of this broker at another broker, on a connection that is being opened or whose session ends soon."""

from ...protocol.client import SaslError, login_requests
from ...protocol.client.sasl import SaslLogin
from ...protocol.errors import KafkaError
from ...protocol.messages.sasl_handshake import SaslHandshakeRequest
from .broker_link import Ask

__all__ = ["log_in_to_broker"]

_HANDSHAKE_VERSION, _AUTHENTICATE_VERSION = 1, 2


async def log_in_to_broker(ask: Ask, login: SaslLogin) -> int:
    """The session's lifetime in ms, 0 without end. Raises ConnectionError when the login fails."""
    requests = login_requests(login)
    try:
        request = next(requests)
        while True:
            is_handshake = isinstance(request, SaslHandshakeRequest)
            version = _HANDSHAKE_VERSION if is_handshake else _AUTHENTICATE_VERSION
            request = requests.send(await ask(request, version))
    except StopIteration as end:
        return int(end.value)
    except (KafkaError, SaslError) as error:
        raise ConnectionError(f"this broker could not log in by {login.credentials.mechanism}: {error}") from error
