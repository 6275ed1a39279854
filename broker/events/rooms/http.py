"""Events of the HTTP endpoint."""

from ..event import event

HTTP = (
    event(
        "http.not-opened",
        "WARNING",
        "broker/observability.py",
        "no HTTP endpoint: %s; set %s to another address, or to nothing",
        "error setting",
        "The default port of metrics and health checks is taken, so this broker has none.",
        "Set pybroker.http.listeners to another address, or to nothing if you do not need it.",
    ),
    event(
        "http.request-failed",
        "ERROR",
        "broker/http/http_exchange.py",
        "the HTTP request %s could not be answered",
        "path",
        "A request to the HTTP port hit a bug of the broker. The client got status 500.",
        "Report the traceback.",
    ),
    event(
        "http.tokens-kept",
        "WARNING",
        "broker/http/token_file.py",
        "%s; the tokens read before stay valid",
        "error",
        "The changed file of tokens cannot be used, so the old tokens stay valid.",
        "Correct the file of pybroker.http.token.file.",
    ),
    event(
        "peer.offence.http-token",
        "WARNING",
        "broker/network/offender_log.py",
        "",
        "msg",
        "An HTTP request had no valid token.",
        "Give the client a token of pybroker.http.token.file, or find the program at this address.",
    ),
)
