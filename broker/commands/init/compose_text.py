"""Writes a compose file for a plan. A test compares its services with those of the compose files of the repository."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from .compose_plan import ADMIN, BROKER, ComposePlan

__all__ = ["compose_text"]

_IMAGE = "pybroker"
_SECRETS = "/etc/kafka/secrets"
_ZOOKEEPER = "zookeeper:2181"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
_JAAS = "KAFKA_LISTENER_NAME_{}_SCRAM___SHA___512_SASL_JAAS_CONFIG"
_HTTP_PORT = 8092
_BOARDS = ("broker", "topics", "groups")

_PLAIN = re.compile(r"[0-9]+[ms]|[A-Za-z/.][A-Za-z0-9/._-]*(?::[A-Za-z0-9/._-]+)*")
_NOT_TEXT = {"true", "false", "yes", "no", "on", "off", "null"}


def compose_text(plan: ComposePlan) -> str:
    """The text of the compose file."""
    services: dict[str, Any] = {}
    if plan.has_zookeeper:
        services["zookeeper"] = _zookeeper()
    if plan.has_tls:
        command = ["pybroker", "certificates", _SECRETS, *plan.names]
        services["certificates"] = _once() | {"command": command, "volumes": [f"secrets:{_SECRETS}"]}
    if plan.passwords:
        services["users"] = _users(plan)
    services |= {name: _broker(plan, index) for index, name in enumerate(plan.names)}
    if plan.has_monitoring:
        services |= _monitoring()
    mounted = [volume.partition(":")[0] for service in services.values() for volume in service.get("volumes", [])]
    volumes = dict.fromkeys(name for name in mounted if not name.startswith("."))
    blocks = [
        "# Written by `pybroker init compose`. Start the cluster with `docker compose up --wait`.\n"
        "# `docker compose down` keeps its data, `docker compose down --volumes` deletes it.\n",
        "x-broker: &broker",
        *_block(_shared(), 1),
        "\nx-settings: &settings",
        *_block(_settings(plan), 1),
        "\nservices:",
        *_spaced(services),
        "",
        *_block({"volumes": volumes}, 0),
    ]
    return "\n".join(blocks) + "\n"


def _shared() -> dict[str, Any]:
    return {"image": _IMAGE, "pull_policy": "never", "restart": "unless-stopped", "stop_grace_period": "1m"}


def _once() -> dict[str, Any]:
    """A service that runs to its end before the brokers start."""
    return {"image": _IMAGE, "pull_policy": "never"}


def _settings(plan: ComposePlan) -> dict[str, str]:
    """The settings that all brokers share."""
    replicas = min(plan.brokers, 3)
    settings = {"KAFKA_ZOOKEEPER_CONNECT": _ZOOKEEPER} if plan.has_zookeeper else {}
    settings |= {
        "KAFKA_LISTENERS": "INTERNAL://:19092,EXTERNAL://:9092",
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": f"INTERNAL:{plan.protocol},EXTERNAL:{plan.protocol}",
        "KAFKA_INTER_BROKER_LISTENER_NAME": "INTERNAL",
        "KAFKA_DEFAULT_REPLICATION_FACTOR": str(replicas),
        "KAFKA_MIN_INSYNC_REPLICAS": str(max(replicas - 1, 1)),
        "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
    }
    if replicas < 3:
        settings["KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR"] = str(replicas)
        settings["KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR"] = str(replicas)
        settings["KAFKA_TRANSACTION_STATE_LOG_MIN_ISR"] = "1"
    if plan.has_tls:
        settings |= {
            "KAFKA_SSL_KEYSTORE_TYPE": "PEM",
            "KAFKA_SSL_TRUSTSTORE_TYPE": "PEM",
            "KAFKA_SSL_TRUSTSTORE_FILENAME": "ca.pem",
            "KAFKA_LISTENER_NAME_INTERNAL_SSL_CLIENT_AUTH": "required",
        }
    if plan.passwords:
        login = f'username="{BROKER}" password="{_reference(plan, BROKER)}"'
        settings |= {
            "KAFKA_SASL_ENABLED_MECHANISMS": "SCRAM-SHA-512",
            "KAFKA_SASL_MECHANISM_INTER_BROKER_PROTOCOL": "SCRAM-SHA-512",
            _JAAS.format("INTERNAL"): f"{_SCRAM} {login};",
            _JAAS.format("EXTERNAL"): f"{_SCRAM};",
            "KAFKA_AUTHORIZER_CLASS_NAME": "kafka.security.authorizer.AclAuthorizer",
            "KAFKA_SUPER_USERS": f"User:{BROKER};User:{ADMIN}",
        }
    if plan.has_monitoring:
        settings["KAFKA_PYBROKER_HTTP_LISTENERS"] = f"HTTP://:{_HTTP_PORT}"
        settings["KAFKA_PYBROKER_HTTP_INSECURE"] = "true"
    return settings


def _reference(plan: ComposePlan, user: str) -> str:
    return f"${{{plan.variables[user]}:?put it into the file .env}}"


def _broker(plan: ComposePlan, index: int) -> dict[str, Any]:
    name = plan.names[index]
    service: dict[str, Any] = {"<<": "*broker", "hostname": name}
    before = _before_first(plan) if index == 0 else {plan.names[index - 1]: "service_healthy"}
    if before:
        service["depends_on"] = {other: {"condition": condition} for other, condition in before.items()}
    service["ports"] = [f"127.0.0.1:{plan.ports[index]}:9092"]
    advertised = f"INTERNAL://{name}:19092,EXTERNAL://localhost:{plan.ports[index]}"
    service["environment"] = {
        "<<": "*settings",
        "KAFKA_BROKER_ID": str(index + 1),
        "KAFKA_ADVERTISED_LISTENERS": advertised,
    }
    service["volumes"] = [f"{name}:/var/lib/kafka/data"]
    if plan.has_tls:
        service["environment"]["KAFKA_SSL_KEYSTORE_FILENAME"] = f"{name}.pem"
        service["volumes"].append(f"secrets:{_SECRETS}:ro")
    return service


def _before_first(plan: ComposePlan) -> dict[str, str]:
    """The services that the first broker waits for, and the state that it waits for."""
    before = {"zookeeper": "service_healthy"} if plan.has_zookeeper else {}
    if plan.has_tls:
        before["certificates"] = "service_completed_successfully"
    if plan.passwords:
        before["users"] = "service_completed_successfully"
    return before


def _zookeeper() -> dict[str, Any]:
    return {
        "image": "zookeeper:3.8",
        "restart": "unless-stopped",
        "environment": {"ZOO_AUTOPURGE_PURGEINTERVAL": "24"},
        "volumes": ["zookeeper-data:/data", "zookeeper-log:/datalog"],
        "healthcheck": {
            "test": ["CMD-SHELL", "echo srvr | nc -w 2 localhost 2181 | grep -q Mode"],
            "interval": "2s",
            "timeout": "5s",
            "retries": 30,
        },
    }


def _users(plan: ComposePlan) -> dict[str, Any]:
    steps = [
        f'echo "$${variable}" | pybroker user set {user} --place {_ZOOKEEPER}'
        for user, variable in plan.variables.items()
    ]
    return _once() | {
        "depends_on": {"zookeeper": {"condition": "service_healthy"}},
        "environment": {variable: _reference(plan, user) for user, variable in plan.variables.items()},
        "command": ["sh", "-ec", "; ".join(steps)],
    }


def _monitoring() -> dict[str, Any]:
    boards = [f"./monitoring/grafana/{board}.json:/var/lib/grafana/dashboards/{board}.json:ro" for board in _BOARDS]
    return {
        "prometheus": {
            "image": "prom/prometheus:v2.53.3",
            "restart": "unless-stopped",
            "command": ["--config.file=/etc/prometheus/prometheus.yaml", "--storage.tsdb.path=/prometheus"],
            "ports": ["127.0.0.1:9090:9090"],
            "volumes": ["./monitoring/prometheus:/etc/prometheus:ro", "prometheus:/prometheus"],
        },
        "grafana": {
            "image": "grafana/grafana:11.4.0",
            "restart": "unless-stopped",
            "depends_on": {"prometheus": {"condition": "service_started"}},
            "environment": {
                "GF_AUTH_ANONYMOUS_ENABLED": "true",
                "GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH": "/var/lib/grafana/dashboards/broker.json",
            },
            "ports": ["127.0.0.1:3000:3000"],
            "volumes": [
                "./monitoring/grafana/provisioning:/etc/grafana/provisioning:ro",
                *boards,
                "grafana:/var/lib/grafana",
            ],
        },
    }


def _block(mapping: Mapping[str, Any], depth: int) -> Iterator[str]:
    """The lines of a YAML mapping. Short lists of words, which are commands, stay on one line."""
    space = "  " * depth
    for key, value in mapping.items():
        if isinstance(value, dict):
            yield f"{space}{key}:"
            yield from _block(value, depth + 1)
        elif isinstance(value, list) and key in ("command", "test"):
            yield f"{space}{key}: {json.dumps(value)}"
        elif isinstance(value, list):
            yield f"{space}{key}:"
            yield from (f"{space}  - {_scalar(item)}" for item in value)
        elif value is None:
            yield f"{space}{key}:"
        else:
            yield f"{space}{key}: {value if key == '<<' else _scalar(value)}"


def _spaced(services: Mapping[str, Any]) -> Iterator[str]:
    """The lines of the services, with an empty line between two."""
    for number, (name, service) in enumerate(services.items()):
        if number:
            yield ""
        yield from _block({name: service}, 1)


def _scalar(value: str | int) -> str:
    if isinstance(value, int):
        return str(value)
    return value if _PLAIN.fullmatch(value) and value.lower() not in _NOT_TEXT else json.dumps(value)
