"""The request log on Kafka's logger."""

import json
import logging
from collections.abc import Iterator

import pytest
from pybroker.broker.network.request import ConnectionInfo, Request
from pybroker.broker.process.log_lines import LogRateLimit
from pybroker.broker.requests.request_log import REQUEST_LOGGER, RequestLog
from pybroker.broker.settings.loggers import LoggerLevels


@pytest.fixture(autouse=True)
def _restored_level() -> Iterator[None]:
    yield
    logging.getLogger(REQUEST_LOGGER).setLevel(logging.NOTSET)


def request(client_id: str = "client", number: int = 1) -> Request:
    info = ConnectionInfo("PLAINTEXT", "SASL_SSL", ("10.0.0.1", 9092), ("10.0.0.9", 50000))
    info.software = "librdkafka 2.5"
    made = Request(36, 2, number, client_id, 0, bytearray(b"password"), info, 0)
    made.received_s, made.started_s, made.handled_s, made.answered_s, made.sending_s = 1.0, 1.5, 1.75, 2.75, 3.0
    made.frame_bytes, made.response_bytes = 200, 60
    return made


def test_log_is_off_until_its_logger_is_set_to_debug(caplog: pytest.LogCaptureFixture) -> None:
    log = RequestLog((), 1)
    with caplog.at_level(logging.DEBUG):  # of the root
        seen = [log.is_on]
    for level in ("DEBUG", "WARN"):
        LoggerLevels().set(REQUEST_LOGGER, level)
        seen.append(log.is_on)
    assert seen == [False, True, False]


def test_line_has_the_header_the_times_and_the_client_but_nothing_of_the_body(caplog: pytest.LogCaptureFixture) -> None:
    log = RequestLog((), 1)
    with caplog.at_level(5, REQUEST_LOGGER):
        log.note(request("a\nb"), 3.5)
    (line,) = caplog.messages
    assert "\n" not in line
    assert "password" not in line
    told = json.loads(line.removeprefix("Completed request:"))
    assert told["requestHeader"] == {
        "requestApiKey": 36,
        "requestApiVersion": 2,
        "correlationId": 1,
        "clientId": "a\nb",
        "requestApiKeyName": "SaslAuthenticate",
    }
    times = {name: value for name, value in told.items() if name.endswith("TimeMs")}
    assert times == {
        "totalTimeMs": 2500,
        "requestQueueTimeMs": 500,
        "localTimeMs": 250,
        "remoteTimeMs": 1000,
        "throttleTimeMs": 0,
        "responseQueueTimeMs": 250,
        "sendTimeMs": 500,
    }
    assert (told["clientInformation"], told["principal"]) == ("librdkafka 2.5", "User:ANONYMOUS")


def test_clients_and_sample_choose_what_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    log = RequestLog(["wanted"], 3)
    with caplog.at_level(logging.DEBUG, REQUEST_LOGGER):
        for number in range(9):
            log.note(request("wanted", number), 3.5)
            log.note(request("other", number), 3.5)
    found = [json.loads(line.removeprefix("Completed request:"))["requestHeader"] for line in caplog.messages]
    assert [(each["clientId"], each["correlationId"]) for each in found] == [
        ("wanted", 2),
        ("wanted", 5),
        ("wanted", 8),
    ]


def test_rate_limit_of_lines_lets_every_line_of_the_request_log_through(caplog: pytest.LogCaptureFixture) -> None:
    limit = LogRateLimit()
    caplog.handler.addFilter(limit)
    try:
        with caplog.at_level(logging.DEBUG, REQUEST_LOGGER):
            log = RequestLog((), 1)
            for number in range(500):
                log.note(request("client", number), 3.5)
    finally:
        caplog.handler.removeFilter(limit)
    assert len(caplog.messages) == 500
