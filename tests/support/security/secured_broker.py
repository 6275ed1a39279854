"""A broker process whose clients need TLS, a password (SCRAM-SHA-512) and rights (ACLs)."""

import subprocess
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from confluent_kafka.cimpl import NewTopic
from pybroker.config.authorization import ACL_AUTHORIZER
from support.processes.broker_process import PYBROKER, BrokerProcess
from support.processes.certificates import Authority
from support.processes.ports import free_port

__all__ = ["MODULE", "SecuredBroker"]

MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
MECHANISM = "SCRAM-SHA-512"
ADMIN = "admin"


class SecuredBroker:
    """The user `admin` may do everything; the others what `allow` says. A user's password is `canary-` and its name."""

    def __init__(self, directory: Path, *users: str, settings: Mapping[str, str] | None = None) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._authority = Authority(directory)
        self.bootstrap_servers = f"127.0.0.1:{free_port()}"
        given = {
            "listeners": f"SASL_SSL://{self.bootstrap_servers}",
            "inter.broker.listener.name": "SASL_SSL",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self._authority.issue("broker", "IP:127.0.0.1")),
            "sasl.enabled.mechanisms": MECHANISM,
            f"listener.name.sasl_ssl.{MECHANISM.lower()}.sasl.jaas.config": f"{MODULE} required;",
            "authorizer.class.name": ACL_AUTHORIZER,
            "super.users": f"User:{ADMIN}",
            **(settings or {}),
        }
        self._broker = BrokerProcess(directory / "broker", given)
        self._broker.log_directory.mkdir(parents=True)
        for user in (ADMIN, *users):
            command = [*PYBROKER, "user", "set", user, "--place", str(self._broker.log_directory)]
            done = subprocess.run(
                command, input=f"{self.password(user)}\n", capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr

    @property
    def output(self) -> str:
        return self._broker.output

    @staticmethod
    def password(user: str) -> str:
        return f"canary-{user}"

    def options(self, user: str) -> dict[str, str]:
        """Returns the options of Kafka's clients, without addresses."""
        return {
            "security.protocol": "SASL_SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self._authority.certificate),
            "sasl.mechanism": MECHANISM,
            "sasl.jaas.config": f'{MODULE} required username="{user}" password="{self.password(user)}";',
        }

    def librdkafka_options(self, user: str = ADMIN) -> dict[str, str]:
        return {
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(self._authority.certificate),
            "sasl.mechanism": MECHANISM,
            "sasl.username": user,
            "sasl.password": self.password(user),
        }

    @cached_property
    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap_servers, **self.librdkafka_options()})

    def create_topic(self, name: str, partitions: int) -> None:
        self._admin.create_topics([NewTopic(name, partitions, 1)])[name].result()

    def allow(self, user: str, operation: AclOperation, kind: ResourceType, name: str) -> None:
        allowed = AclPermissionType.ALLOW
        acl = AclBinding(kind, name, ResourcePatternType.LITERAL, f"User:{user}", "*", operation, allowed)
        (created,) = self._admin.create_acls([acl]).values()
        created.result()

    def __enter__(self) -> Self:
        self._broker.start()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._broker.__exit__(*exception)
