"""Each client logs in by each mechanism over each security protocol, and reports why a login failed."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.processes.broker_process import BrokerProcess
from support.processes.java import QUICK_TO_START
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess
from support.security.client_logins import CLIENTS, Fact, outcomes
from support.security.login_rows import PARTITIONS, RECORDS
from support.security.secured_listeners import Login, SecuredListeners

SERVED = {"partitions": PARTITIONS, "values": RECORDS}
SHORT = {
    "java-4.1.1": ("SASL_SSL OAUTHBEARER", "wrong secret, OAUTHBEARER"),
    "go": ("SSL with a certificate", "no certificate"),
    "node": ("SASL_SSL SCRAM-SHA-512", "mechanism not enabled"),
    "kcat": ("SASL_SSL SCRAM-SHA-256", "unknown authority, SSL"),
}
"""A login and a refused login of each client that logs in nowhere else in the short form of the tests."""
UNUSABLE = {"kcat": "OAUTHBEARER"}
"""A mechanism for which kcat makes tokens without a signature only: see `test_kcat.py`."""
CLOSED = "closed|disconnected|[Uu]nable (to )?connect"
UNNAMED = {
    "kafka-python": "wrong secret|mechanism",  # drops a response that arrives together with the end of the connection
    "aiokafka": "wrong secret, OAUTHBEARER|certificate",  # takes any response to a token for success; hides TLS alerts
    "node": "wrong secret, OAUTHBEARER",  # takes any response to a token for success
}
"""Patterns of refused logins for which a client reports only `CLOSED`, of Apache Kafka too."""


@contextmanager
def started(directory: Path, listeners: SecuredListeners, *, against_kafka: bool) -> Iterator[list[str]]:
    """Yields the lines of the broker's output."""
    settings = listeners.settings()
    if not against_kafka:
        with BrokerProcess(directory, settings) as broker:
            yield broker.lines
        return
    allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={listeners.keys_url}"
    zookeeper = ZooKeeperProcess(directory / "zookeeper").start()
    kafka = KafkaProcess(directory / "kafka", zookeeper, settings, jvm_options=(*QUICK_TO_START, allowed))
    try:
        kafka.start()
        yield kafka.lines
    finally:
        kafka.stop()
        zookeeper.kill()


@pytest.fixture(scope="module")
def listeners(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredListeners]:
    """The listeners of one broker for all tests of this module. Its output contains neither secrets nor errors, unlike
    that of Apache Kafka, which logs refused tokens.
    """
    directory = tmp_path_factory.mktemp("secured")
    listeners = SecuredListeners(directory)
    against_kafka = request.config.getoption("--against-kafka")
    with started(directory, listeners, against_kafka=against_kafka) as lines:
        listeners.make_users()
        yield listeners
    unwanted = (*listeners.secrets, " ERROR ", "Traceback")
    assert against_kafka or [line for line in lines if any(text in line for text in unwanted)] == []


def usable(client: str, logins: Sequence[Login]) -> list[Login]:
    return [login for login in logins if login.mechanism != UNUSABLE.get(client)]


def unexpected_outcomes(client: str, logins: Sequence[Login]) -> dict[str, Fact | None]:
    """Outcomes other than ten records for a login that is served, and an error with the reason for a refused one."""
    found = outcomes(client, logins)
    return {
        login.name: found.get(login.name)
        for login in logins
        if not is_expected(login, found.get(login.name, {}), UNNAMED.get(client))
    }


def is_expected(login: Login, outcome: Fact, unnamed: str | None) -> bool:
    if not login.refusal:
        return outcome == SERVED
    refusal = f"{login.refusal}|{CLOSED}" if unnamed and re.search(unnamed, login.name) else login.refusal
    log = outcome.get("log", [])
    assert isinstance(log, list)
    reports = [*str(outcome.get("error", "")).splitlines(), *map(str, log)]
    return any(re.search(refusal, text) and not re.search("(?i)timed? ?out", text) for text in reports)


@pytest.mark.parametrize("client", SHORT)
def test_client_in_another_language_logs_in_and_reports_a_refusal(client: str, listeners: SecuredListeners) -> None:
    logins = [login for login in (*listeners.served(), *listeners.refused()) if login.name in SHORT[client]]
    assert len(logins) == len(SHORT[client])
    assert unexpected_outcomes(client, logins) == {}


@pytest.mark.long
@pytest.mark.parametrize("client", CLIENTS)
def test_client_creates_a_topic_commits_a_transaction_and_reads_it_in_a_group_by_each_login(
    client: str, listeners: SecuredListeners
) -> None:
    assert unexpected_outcomes(client, usable(client, listeners.served())) == {}


@pytest.mark.long
@pytest.mark.parametrize("client", CLIENTS)
def test_client_reports_the_reason_of_each_refused_login(client: str, listeners: SecuredListeners) -> None:
    assert unexpected_outcomes(client, usable(client, listeners.refused())) == {}
