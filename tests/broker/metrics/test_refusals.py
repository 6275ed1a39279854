"""Refused connections, logins and HTTP requests are counted, at whichever port they come."""

import socket
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from pybroker import Broker
from support.in_process.scraping import ScrapedSamples, samples_in

TOKEN = "a-token-of-enough-characters"
CLIENT = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "ana",
    "socket.connection.setup.timeout.ms": "2000",
}


def status_of(url: str, method: str = "GET", **headers: str) -> int:
    try:
        with urlopen(Request(url, headers=headers, method=method), timeout=60) as response:
            return int(response.status)
    except HTTPError as error:
        return error.code


def send_plain_text(address: str) -> None:
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=60) as client:
        client.sendall(b"\0\0\0\x10" + bytes(16))
        while client.recv(1024):
            pass


def test_refusals_of_each_port_are_counted(tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text(TOKEN)
    settings = {
        "pybroker.http.listeners": "HTTP://127.0.0.1:0",
        "pybroker.http.token.file": str(tmp_path / "tokens"),
        "connection.failed.authentication.delay.ms": "0",
    }
    with Broker(settings, tls=True, users={"ana": "right"}) as broker:
        send_plain_text(broker.bootstrap_servers)
        admin = AdminClient(
            {
                **CLIENT,
                "bootstrap.servers": broker.bootstrap_servers,
                "ssl.ca.location": str(broker.ca_file),
                "sasl.password": "wrong",
            }
        )
        with pytest.raises(KafkaException):
            admin.list_topics(timeout=3)
        del admin  # it would try again
        url = f"{broker.http_url}/metrics"
        token = f"Bearer {TOKEN}"
        assert status_of(url, Authorization="Bearer wrong") == 401
        assert status_of(url, Authorization=token, Host="evil.example") == 421
        assert status_of(url, "POST", Authorization=token) == 405
        assert status_of(f"{broker.http_url}/none", Authorization=token) == 404
        with urlopen(Request(url, headers={"Authorization": token}), timeout=60) as response:
            found = ScrapedSamples(samples_in(response.read().decode()))
    once = ("tls-plain-text", "http-token", "http-host", "http-request")
    assert {offence: found.value("pybroker_refused_total", offence=offence) for offence in once} == dict.fromkeys(
        once, 1
    )
    logins = found.value("pybroker_refused_total", offence="login")
    assert logins >= 1
    place = {"listener": "SASL_SSL", "networkProcessor": "0"}
    failed = found.value("kafka_server_socket_server_metrics_failed_authentication_total", **place)
    assert failed == logins + 1
