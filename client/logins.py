"""The credentials of a connection that logs in now: the password of its settings, or a fresh token."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ..protocol.client import AnyCredentials
from ..protocol.client.sasl import Credentials
from ..protocol.errors import ErrorCode, error_for

if TYPE_CHECKING:
    from .oauth.token_login import TokenLogin


def current_credentials(sasl: Credentials | TokenLogin) -> AnyCredentials:
    """Blocks while a new token is fetched. Raises KafkaError when the provider refuses, ConnectionError when another
    try may help.
    """
    if isinstance(sasl, Credentials):
        return sasl
    from .oauth.token_source import TokenError

    try:
        return sasl.bearer(time.time_ns() // 1_000_000)
    except TokenError as error:
        if error.is_final:
            raise error_for(ErrorCode.SASL_AUTHENTICATION_FAILED, str(error)) from None
        raise ConnectionError(f"no token to log in with: {error}") from error
