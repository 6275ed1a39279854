"""Both brokers with three listeners: plain, TLS, and SCRAM without TLS. Both get the same certificate and settings."""

import atexit
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from support.processes.broker_process import BrokerProcess
from support.processes.certificates import Authority
from support.processes.kafka_process import AS_DEFAULT, KafkaProcess, ZooKeeperProcess
from support.processes.ports import free_port

from benchmarks.contestants import Contestant, Running, kafka_as_shipped
from benchmarks.workloads import Site

__all__ = ["SECURED", "SecuredBroker", "SecuredSite", "secured_site"]


class _Certificates(NamedTuple):
    """``server``: the private key (RSA, 2048 bits) and the certificate. ``authority``: what clients trust."""

    server: Path
    authority: Path


@cache
def _certificates() -> _Certificates:
    directory = Path(tempfile.mkdtemp(prefix="bench-tls-"))
    atexit.register(shutil.rmtree, directory)
    authority = Authority(directory)
    return _Certificates(authority.issue("broker", "IP:127.0.0.1,DNS:localhost"), authority.certificate)


@dataclass(frozen=True)
class SecuredBroker:
    """A running broker and the ports of its listeners."""

    process: BrokerProcess | KafkaProcess
    tls_port: int
    sasl_port: int

    @property
    def bootstrap_servers(self) -> str:
        return self.process.bootstrap_servers

    @property
    def pid(self) -> int:
        return self.process.pid

    def kill(self) -> object:
        return self.process.kill()


@dataclass
class SecuredSite(Site):
    """``servers`` is the TLS listener."""

    plain_port: int = 0
    tls_port: int = 0
    sasl_port: int = 0


def secured_site(broker: Running, scale: float) -> SecuredSite:
    """``broker``: one that a contestant of `SECURED` has started."""
    assert isinstance(broker, SecuredBroker)
    return SecuredSite(
        f"127.0.0.1:{broker.tls_port}",
        scale,
        client_settings=(
            "security.protocol=SSL",
            "ssl.truststore.type=PEM",
            f"ssl.truststore.location={_certificates().authority}",
            "ssl.enabled.protocols=TLSv1.3",
            "ssl.cipher.suites=TLS_AES_128_GCM_SHA256",
        ),
        admin_servers=broker.bootstrap_servers,
        plain_port=broker.process.port,
        tls_port=broker.tls_port,
        sasl_port=broker.sasl_port,
    )


class _Listeners(NamedTuple):
    plain_port: int
    tls_port: int
    sasl_port: int

    def settings(self) -> Mapping[str, str]:
        return {
            "listeners": f"PLAINTEXT://127.0.0.1:{self.plain_port},SSL://127.0.0.1:{self.tls_port},"
            f"SASL_PLAINTEXT://127.0.0.1:{self.sasl_port}",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(_certificates().server),
            "ssl.enabled.protocols": "TLSv1.3",
            "sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listener.name.sasl_plaintext.scram-sha-512.sasl.jaas.config": "org.apache.kafka.common.security.scram."
            "ScramLoginModule required;",
        }


def _new_listeners() -> _Listeners:
    return _Listeners(free_port(), free_port(), free_port())


def _start_pybroker(directory: Path) -> tuple[Running, Callable[[], object]]:
    listeners = _new_listeners()
    broker = BrokerProcess(directory / "pybroker", listeners.settings()).start()
    return SecuredBroker(broker, listeners.tls_port, listeners.sasl_port), broker.stop


def _start_kafka(directory: Path) -> tuple[Running, Callable[[], object]]:
    listeners = _new_listeners()
    zookeeper = ZooKeeperProcess(directory / "zookeeper", AS_DEFAULT).start()
    kafka = kafka_as_shipped(directory / "kafka", zookeeper, listeners.settings())
    kafka.port = listeners.plain_port
    kafka.start()

    def stop() -> None:
        kafka.stop()
        zookeeper.kill()
        shutil.rmtree(directory / "zookeeper")

    return SecuredBroker(kafka, listeners.tls_port, listeners.sasl_port), stop


SECURED = (Contestant("pybroker", _start_pybroker), Contestant("kafka", _start_kafka))
