"""Scenarios of access control, all switched off: SASL, ACLs, delegation tokens, SCRAM, quotas."""

import math
from collections.abc import Sequence
from typing import Any

from interop.side_by_side.conversation import Conversation
from pybroker.protocol.messages import alter_client_quotas as aq
from pybroker.protocol.messages import describe_client_quotas as dq
from pybroker.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from pybroker.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from pybroker.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from pybroker.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from pybroker.protocol.messages.describe_acls import DescribeAclsRequest
from pybroker.protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from pybroker.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from pybroker.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from pybroker.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from pybroker.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from pybroker.protocol.messages.sasl_handshake import SaslHandshakeRequest

__all__ = ["SCENARIOS"]


def sasl_on_a_plain_listener(talk: Conversation) -> None:
    for version in range(2):
        for mechanism in ("PLAIN", "", "NONSENSE"):
            talk.ask(SaslHandshakeRequest(mechanism=mechanism), version, note=mechanism)
    for version in range(3):
        talk.ask(SaslAuthenticateRequest(auth_bytes=b"\0user\0password"), version)
        talk.ask(SaslAuthenticateRequest(), version, note="nothing")


# -- ACLs


def acls_without_an_authorizer(talk: Conversation) -> None:
    for version in range(4):
        patterns: dict[str, Any] = {"pattern_type_filter": 1} if version >= 1 else {}
        anything: dict[str, Any] = {"resource_name_filter": None, "principal_filter": None, "host_filter": None}
        for resource_type in (1, 2):
            wanted: dict[str, Any] = {"resource_type_filter": resource_type, "operation": 1, "permission_type": 1}
            talk.ask(DescribeAclsRequest(**wanted, **patterns, **anything), version)
            matching = DeleteAclsFilter(**wanted, **patterns, **anything)
            talk.ask(DeleteAclsRequest(filters=[matching, matching]), version)
        rule = AclCreation(
            resource_type=2, resource_name="t", principal="User:a", host="*", operation=3, permission_type=3
        )
        talk.ask(CreateAclsRequest(creations=[rule, rule]), version)
        talk.ask(CreateAclsRequest(), version, note="none")
        talk.ask(DeleteAclsRequest(), version, note="none")


# -- delegation tokens


def delegation_tokens_without_sasl(talk: Conversation) -> None:
    for version in range(4):
        talk.ask(CreateDelegationTokenRequest(max_lifetime_ms=1000), version)
        talk.ask(DescribeDelegationTokenRequest(owners=None), version, note="all")
        talk.ask(DescribeDelegationTokenRequest(owners=[]), version, note="none")
        owner = DescribeDelegationTokenOwner(principal_type="User", principal_name="ann")
        talk.ask(DescribeDelegationTokenRequest(owners=[owner]), version, note="one")
    talk.ask(CreateDelegationTokenRequest(owner_principal_type="User", owner_principal_name="ann"), 3)
    for version in range(3):
        talk.ask(RenewDelegationTokenRequest(hmac=b"x", renew_period_ms=1), version)
        talk.ask(ExpireDelegationTokenRequest(hmac=b"x", expiry_time_period_ms=1), version)


# -- SCRAM


def describe_scram_users_that_nobody_made(talk: Conversation) -> None:
    for users in (None, [], ["ann"], [""], ["ann", "ann"], ["ann", "bob", "ann", ""]):
        names = None if users is None else [UserName(name=user) for user in users]
        talk.ask(DescribeUserScramCredentialsRequest(users=names), 0, note=str(users))


def delete_scram_users_that_nobody_made(talk: Conversation) -> None:
    for users in (["ann"], ["ann", "bob", "ann"], [""]):
        deletions = [ScramCredentialDeletion(name=user, mechanism=1) for user in users]
        talk.ask(AlterUserScramCredentialsRequest(deletions=deletions), 0, note=str(users))
    for mechanism in (0, 3, -1):
        deletion = ScramCredentialDeletion(name="ann", mechanism=mechanism)
        talk.ask(AlterUserScramCredentialsRequest(deletions=[deletion]), 0, note=f"mechanism {mechanism}")
    talk.ask(AlterUserScramCredentialsRequest(), 0, note="nothing")


def make_scram_users_wrongly(talk: Conversation) -> None:
    for name, mechanism, iterations in (("", 1, 4096), ("ann", 0, 4096), ("ann", 1, 1), ("ann", 2, 1 << 30)):
        upsertion = ScramCredentialUpsertion(
            name=name, mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=b"password"
        )
        note = f"{name!r} {mechanism} {iterations}"
        talk.ask(AlterUserScramCredentialsRequest(upsertions=[upsertion]), 0, note=note)
    deletion = ScramCredentialDeletion(name="ann", mechanism=1)
    upsertion = ScramCredentialUpsertion(
        name="ann", mechanism=1, iterations=4096, salt=b"salt", salted_password=b"password"
    )
    talk.ask(AlterUserScramCredentialsRequest(deletions=[deletion], upsertions=[upsertion]), 0, note="both")


def make_describe_and_delete_scram_users(talk: Conversation) -> None:
    def new(user: str, mechanism: int, iterations: int) -> ScramCredentialUpsertion:
        return ScramCredentialUpsertion(
            name=user, mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=b"p" * 32
        )

    upsertions = [new("ann b/c", 1, 4096), new("ann b/c", 2, 16384), new("bob", 2, 8192)]
    talk.ask(AlterUserScramCredentialsRequest(upsertions=upsertions), 0, note="new")
    talk.ask(AlterUserScramCredentialsRequest(upsertions=[new("bob", 2, 4097)]), 0, note="replaced")
    for users in (None, ["bob"], ["bob", "carol"]):
        names = None if users is None else [UserName(name=user) for user in users]
        talk.ask(DescribeUserScramCredentialsRequest(users=names), 0, note=str(users))
    for user, mechanism in (("bob", 1), ("bob", 2), ("ann b/c", 2), ("ann b/c", 1), ("bob", 2)):
        deletion = ScramCredentialDeletion(name=user, mechanism=mechanism)
        talk.ask(AlterUserScramCredentialsRequest(deletions=[deletion]), 0, note=f"delete {user} {mechanism}")
        talk.ask(DescribeUserScramCredentialsRequest(users=None), 0, note="the rest")


# -- quotas


def describe_quotas_that_nobody_set(talk: Conversation) -> None:
    asked: list[list[tuple[str, int, str | None]]] = [
        [],
        [("user", 0, "ann")],
        [("user", 1, None)],
        [("user", 2, None)],
        [("user", 1, None), ("client-id", 2, None)],
        [("ip", 2, None)],
        [("nonsense", 2, None)],
        [("nonsense", 0, "x")],
        [("", 2, None)],
        [("user", 2, None), ("user", 2, None)],
        [("user", 2, None), ("ip", 2, None)],
        [("user", 9, None)],
        [("user", 9, "x")],
        [("user", 0, None)],
        [("user", 1, "x")],
    ]
    for version in range(2):
        for components in asked:
            for strict in (False, True):
                filters = [
                    dq.ComponentData(entity_type=kind, match_type=how, match=who) for kind, how, who in components
                ]
                request = dq.DescribeClientQuotasRequest(components=filters, strict=strict)
                talk.ask(request, version, note=f"{components} {strict}")


def quotas(entity: Sequence[tuple[str, str | None]], *ops: aq.OpData) -> aq.AlterClientQuotasRequest:
    names = [aq.RequestEntityData(entity_type=kind, entity_name=name) for kind, name in entity]
    return aq.AlterClientQuotasRequest(entries=[aq.RequestEntryData(entity=names, ops=list(ops))], validate_only=True)


def quotas_that_are_only_validated(talk: Conversation) -> None:
    for version in range(2):
        for entity, op in (
            ([("user", "x")], aq.OpData(key="producer_byte_rate", value=1.0)),
            ([("user", None), ("client-id", "x")], aq.OpData(key="request_percentage", value=0.5)),
            ([("ip", None)], aq.OpData(key="connection_creation_rate", value=1.0)),
            ([("client-id", "x")], aq.OpData(key="controller_mutation_rate", value=-1.0)),
        ):
            talk.ask(quotas(entity, op), version, note=f"{entity} {op.key}")


def quotas_that_are_set_described_and_removed(talk: Conversation) -> None:
    entities: list[list[tuple[str, str | None]]] = [
        [("user", "x")],
        [("user", None)],
        [("user", "x"), ("client-id", None)],
        [("user", None), ("client-id", "y/z")],
        [("client-id", "y/z")],
        [("client-id", None)],
    ]
    filters: list[list[tuple[str, int, str | None]]] = [
        [],
        [("user", 0, "x")],
        [("user", 1, None)],
        [("user", 2, None), ("client-id", 0, "y/z")],
        [("client-id", 2, None)],
        [("ip", 2, None)],
    ]
    for remove in (False, True):
        ops = [aq.OpData(key="producer_byte_rate", value=1e6, remove=remove)]
        ops += [aq.OpData(key="request_percentage", value=1e8, remove=remove)]
        for entity in entities:
            request = quotas(entity, *ops)
            request.validate_only = False
            talk.ask(request, 1, note=f"{entity} {remove}")
        address = quotas([("ip", "10.0.0.1")], aq.OpData(key="connection_creation_rate", value=7.0, remove=remove))
        address.validate_only = False
        talk.ask(address, 1, note=f"address {remove}")
        for components in filters:
            for strict in (False, True):
                wanted = [
                    dq.ComponentData(entity_type=kind, match_type=how, match=who) for kind, how, who in components
                ]
                talk.ask(
                    dq.DescribeClientQuotasRequest(components=wanted, strict=strict), 1, note=f"{components} {strict}"
                )


def take_quotas_away_that_nobody_set(talk: Conversation) -> None:
    entities: list[list[tuple[str, str | None]]] = [
        [("user", "x")],
        [("user", None), ("client-id", "x")],
        [("client-id", None)],
        [("ip", None)],
        [("ip", "::1")],
    ]
    keys = ("producer_byte_rate", "connection_creation_rate", "nonsense", "")
    for version in range(2):
        for entity in entities:
            removals = [aq.OpData(key=key, remove=True) for key in keys]
            for ops in ([], removals, *([removal] for removal in removals)):
                request = quotas(entity, *ops)
                talk.ask(request, version, note=f"{entity} {[op.key for op in ops]}")
                request.validate_only = False
                talk.ask(request, version, note=f"{entity} {[op.key for op in ops]} in earnest")


def quotas_of_an_entity_in_several_entries(talk: Conversation) -> None:
    good, bad = aq.OpData(key="producer_byte_rate", remove=True), aq.OpData(key="nonsense", value=1.0)
    for first, second in ((good, bad), (bad, good), (good, good)):
        request = quotas([("user", "x")], first)
        request.entries += quotas([("user", "x")], second).entries
        talk.ask(request, 1, note=f"{first.key} {second.key}")
    request = quotas([("user", "x"), ("client-id", "y")], good)
    request.entries += quotas([("client-id", "y"), ("user", "x")], bad).entries
    talk.ask(request, 1, note="in another order")
    talk.ask(quotas([("user", "x"), ("user", "y")], good), 1, note="one type twice")


def quotas_that_cannot_be_set(talk: Conversation) -> None:
    for version in range(2):
        for entity, key, value in (
            ([("nonsense", "x")], "producer_byte_rate", 1.0),
            ([], "producer_byte_rate", 1.0),
            ([("user", "x")], "nonsense", 1.0),
            ([("user", "")], "producer_byte_rate", 1.0),
            ([("user", "x")], "producer_byte_rate", 1.5),
            ([("user", "x")], "producer_byte_rate", -1.0),
            ([("client-id", "x")], "consumer_byte_rate", -0.5),
            ([("user", "x")], "producer_byte_rate", 1e30),
            ([("user", "x")], "producer_byte_rate", math.inf),
            ([("user", "x")], "producer_byte_rate", math.nan),
            ([("user", "x")], "request_percentage", math.nan),
            ([("user", "x")], "producer_byte_rate", 2.0**63),
            ([("user", ".")], "producer_byte_rate", 1.0),
            ([("user", "x"), ("client-id", "..")], "producer_byte_rate", 1.0),
            ([("ip", "127.0.0.1")], "connection_creation_rate", -1.0),
            ([("ip", "127.0.0.1")], "connection_creation_rate", 1e10),
            ([("ip", "no.such.host.invalid")], "connection_creation_rate", 1.0),
            ([("ip", "300.1.1.1")], "connection_creation_rate", 1.0),
            ([("user", "x")], "connection_creation_rate", 1.0),
            ([("ip", "127.0.0.1")], "producer_byte_rate", 1.0),
            ([("ip", "127.0.0.1")], "connection_creation_rate", 0.5),
            ([("ip", "127.0.0.1"), ("user", "x")], "connection_creation_rate", 1.0),
        ):
            talk.ask(quotas(entity, aq.OpData(key=key, value=value)), version, note=f"{entity} {key} {value}")
        talk.ask(aq.AlterClientQuotasRequest(), version, note="none")


SCENARIOS = [
    sasl_on_a_plain_listener,
    acls_without_an_authorizer,
    delegation_tokens_without_sasl,
    describe_scram_users_that_nobody_made,
    delete_scram_users_that_nobody_made,
    make_scram_users_wrongly,
    make_describe_and_delete_scram_users,
    describe_quotas_that_nobody_set,
    quotas_that_cannot_be_set,
    take_quotas_away_that_nobody_set,
    quotas_of_an_entity_in_several_entries,
    quotas_that_are_only_validated,
    quotas_that_are_set_described_and_removed,
]
