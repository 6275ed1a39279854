"""Quotas and SCRAM credentials in ``kafka-configs``, which are settings of users, clients and addresses there."""

import math
import re
import secrets
import sys
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from ...base.command_parser import BAD_INPUT, CommandError
from ...base.printable import printable
from ...client.admin_cluster import AdminCluster
from ...protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    OpData,
    RequestEntityData,
    RequestEntryData,
)
from ...protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from ...protocol.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from ...protocol.scram import MIN_ITERATIONS, SCRAM_MECHANISMS
from ..users.found_users import found_users
from .config_entities import CLIENTS, IPS, USERS, Entity
from .kafka_errors import check_code

__all__ = ["alter_quotas", "describe_quotas"]

_WIRE_TYPES = {USERS: "user", CLIENTS: "client-id", IPS: "ip"}
_TITLES = {"user": "user-principal", "client-id": "client-id", "ip": "ip"}
_EXACT, _DEFAULT, _ANY = 0, 1, 2
_USER_QUOTAS = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
_IP_QUOTAS = ("connection_creation_rate",)
_CREDENTIAL = re.compile(r"(?:iterations=([0-9]{1,9}),)?password=(.+)", re.DOTALL)
_SALT_BYTES = 20
_MAX_ITERATIONS = 16_384
"""Kafka's brokers refuse more."""
_LEAST_SCIENTIFIC, _MOST_PLAIN = 1e-3, 1e7
_Parts = Mapping[str, str | None]


def describe_quotas(cluster: AdminCluster, entities: Sequence[Entity]) -> None:
    """Print a line for each entity with quotas, and for each user with credentials. Raises KafkaError."""
    components = [
        ComponentData(
            entity_type=_WIRE_TYPES[kind],
            match_type=_ANY if name is None else _EXACT if name else _DEFAULT,
            match=name or None,
        )
        for kind, name in entities
    ]
    answer = cluster.ask_any(DescribeClientQuotasRequest(components=components, strict=True))
    check_code(answer.error_code, answer.error_message)
    lines = []
    for entry in answer.entries or ():
        parts = {part.entity_type: part.entity_name for part in entry.entity}
        quotas = sorted((each.key, each.value) for each in entry.values)
        values = ", ".join(f"{name}={_java_double(value)}" for name, value in quotas)
        lines.append(f"Quota configs for {_entity_text(parts)} are {values}\n")
    sys.stdout.write("".join(sorted(lines)))
    if [each.kind for each in entities] == [USERS] and entities[0].name != "":
        name = entities[0].name
        for user in found_users(cluster, None if name is None else [name]):
            credentials = ", ".join(f"{each.mechanism}=iterations={each.iterations}" for each in user.credentials)
            sys.stdout.write(
                f"SCRAM credential configs for user-principal '{printable(user.user)}' are {credentials}\n"
            )


def alter_quotas(
    cluster: AdminCluster, entities: Sequence[Entity], added: Mapping[str, str], deleted: Iterable[str]
) -> None:
    """Change the quotas, or the credentials, of the entities. Raises KafkaError, CommandError."""
    removed = list(deleted)
    kinds = [each.kind for each in entities]
    _check_names(kinds, added, "added")
    _check_names(kinds, removed, "deleted")
    credentials = [name for name in (*added, *removed) if name in SCRAM_MECHANISMS]
    if not credentials:
        _alter_quotas(cluster, entities, added, removed)
    elif len(credentials) < len(added) + len(removed):
        raise CommandError(
            "Cannot alter both quota and SCRAM credential configs simultaneously for 'users' using --bootstrap-server.",
            BAD_INPUT,
        )
    else:
        _alter_credentials(cluster, entities[0].name or "", added, removed)


def _check_names(kinds: Sequence[str], names: Iterable[str], action: str) -> None:
    known: tuple[str, ...] = _IP_QUOTAS if kinds == [IPS] else _USER_QUOTAS
    what, whom = "quota", " and ".join(f"'{kind}'" for kind in sorted(kinds, reverse=True))
    if kinds == [USERS]:
        known, what = (*known, *SCRAM_MECHANISMS), "quota and SCRAM credential"
    elif kinds == [IPS]:
        what = "connection quota"
    if unexpected := [name for name in names if name not in known]:
        raise CommandError(
            f"Only {what} configs can be {action} for {whom} using --bootstrap-server. Unexpected config names: "
            f"Set({', '.join(unexpected)})",
            BAD_INPUT,
        )


def _alter_quotas(
    cluster: AdminCluster, entities: Sequence[Entity], added: Mapping[str, str], removed: Sequence[str]
) -> None:
    values = {name: _number(name, text) for name, text in added.items()}
    there = _values_of(cluster, entities)
    if missing := [name for name in removed if name not in there]:
        raise CommandError(f"Invalid config(s): {','.join(missing)}", BAD_INPUT)
    operations = [OpData(key=name, value=value, remove=False) for name, value in values.items()]
    operations += [OpData(key=name, value=0.0, remove=True) for name in removed]
    entity = [RequestEntityData(entity_type=_WIRE_TYPES[kind], entity_name=name or None) for kind, name in entities]
    request = AlterClientQuotasRequest(entries=[RequestEntryData(entity=entity, ops=operations)], validate_only=False)
    for entry in cluster.ask_controller(request).entries:
        check_code(entry.error_code, entry.error_message)


def _values_of(cluster: AdminCluster, entities: Sequence[Entity]) -> set[str]:
    """The names of the quotas that the entities have now."""
    components = [
        ComponentData(entity_type=_WIRE_TYPES[kind], match_type=_EXACT if name else _DEFAULT, match=name or None)
        for kind, name in entities
    ]
    answer = cluster.ask_any(DescribeClientQuotasRequest(components=components, strict=True))
    check_code(answer.error_code, answer.error_message)
    return {value.key for entry in answer.entries or () for value in entry.values}


def _alter_credentials(cluster: AdminCluster, user: str, added: Mapping[str, str], removed: Sequence[str]) -> None:
    if not user:
        raise CommandError(
            "The use of --entity-default or --user-defaults is not allowed with User SCRAM Credentials using "
            "--bootstrap-server.",
            BAD_INPUT,
        )
    request = AlterUserScramCredentialsRequest(
        deletions=[ScramCredentialDeletion(name=user, mechanism=SCRAM_MECHANISMS[name].code) for name in removed],
        upsertions=[_upsertion(user, name, text) for name, text in added.items()],
    )
    for result in cluster.ask_controller(request).results:
        check_code(result.error_code, result.error_message)


def _upsertion(user: str, name: str, text: str) -> ScramCredentialUpsertion:
    """``text``: such as iterations=8192,password=secret. Raises CommandError."""
    found = _CREDENTIAL.fullmatch(text)
    if found is None:
        raise CommandError(f"{name} must be [iterations=N,password=PASSWORD] or [password=PASSWORD]", BAD_INPUT)
    iterations = int(found[1] or MIN_ITERATIONS)
    if iterations < MIN_ITERATIONS:
        raise CommandError(
            f"Iterations {iterations} is less than the minimum {MIN_ITERATIONS} required for {name}", BAD_INPUT
        )
    if iterations > _MAX_ITERATIONS:
        raise CommandError(
            f"Iterations {iterations} is greater than the maximum {_MAX_ITERATIONS} of {name}", BAD_INPUT
        )
    mechanism = SCRAM_MECHANISMS[name]
    salt = secrets.token_bytes(_SALT_BYTES)
    return ScramCredentialUpsertion(
        name=user,
        mechanism=mechanism.code,
        iterations=iterations,
        salt=salt,
        salted_password=mechanism.salted_password(found[2], salt, iterations),
    )


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise CommandError(f"Cannot parse quota configuration value for {name}: {text}", BAD_INPUT) from None


def _entity_text(parts: _Parts) -> str:
    return ", ".join(
        f"the default {title}" if (name := parts[kind]) is None else f"{title} '{printable(name)}'"
        for kind, title in _TITLES.items()
        if kind in parts
    )


def _java_double(value: float) -> str:
    """The number as Java writes it: 1024.0, 1.048576E7."""
    if value == 0 or _LEAST_SCIENTIFIC <= abs(value) < _MOST_PLAIN or not math.isfinite(value):
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    text = "".join(map(str, digits)).rstrip("0")
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{int(exponent) + len(digits) - 1}"
