"""Tests that ``pybroker explain acl`` names the rule that decides."""

from pathlib import Path

import pytest
from pybroker.base.acl_rules.question import AclQuestion
from pybroker.base.acls import AclEntry, AclOperation, AclPermission, AclResourceType, PatternType, ResourcePattern
from pybroker.base.command_parser import CommandError
from pybroker.broker.commands.explain.explain_command import explain, explain_command, question_of
from pybroker.config.authorization import AuthorizationSettings
from pybroker.controller.acl_tree import AclTree
from pybroker.controller.tree import acl_nodes
from pybroker.controller.tree.embedded_store import EmbeddedStore
from pybroker.controller.tree.znodes import ZnodeDecodeError

TOPICS = ResourcePattern(AclResourceType.TOPIC, "ord", PatternType.PREFIXED)
ALLOW = AclEntry("User:alice", "*", AclOperation.READ, AclPermission.ALLOW)


async def no_wait() -> None:
    pass


def asked(user: str, operation: str = "Read") -> AclQuestion:
    return question_of(["acl", "--user", user, "--operation", operation, "--topic", "orders"])[1]


async def test_rule_in_the_metadata_store_is_named(tmp_path: Path) -> None:
    store = await EmbeddedStore.open(tmp_path / "metadata.db", lambda: 0)
    tree = AclTree(store, no_wait)
    settings = AuthorizationSettings(frozenset({"User:root"}), False)
    assert str(await explain(store, settings, asked("alice"))).startswith("denied: no ACL applies to the resource")
    await tree.create_paths()
    await tree.update(TOPICS, lambda _: frozenset({ALLOW}))
    told = {user: str(await explain(store, settings, asked(user))) for user in ("alice", "User:bob", "root")}
    assert told == {
        "alice": "allowed: an ALLOW rule applies, and no DENY rule does: "
        "User:alice may Read from host * on Topic:PREFIXED:ord",
        "User:bob": "denied: ACLs apply to the resource, but none allows the operation",
        "root": "allowed: super.users names the principal",
    }
    await store.set(acl_nodes.acl_path(TOPICS), b"{")
    with pytest.raises(ZnodeDecodeError):
        await explain(store, settings, asked("alice"))
    await store.close()


def test_everything_is_allowed_without_an_authorizer(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain_command(["acl", "--user", "a", "--operation", "read", "--topic", "t"]) == 0
    assert capsys.readouterr().out.startswith("allowed: there is no authorizer")


def test_jaas_file_in_kafka_opts_is_read_as_by_the_broker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    jaas, file = tmp_path / "jaas.conf", tmp_path / "server.properties"
    jaas.write_text("KafkaServer { org.apache.kafka.common.security.scram.ScramLoginModule required; };")
    file.write_text(
        "listeners=SASL_PLAINTEXT://:9092\nsecurity.inter.broker.protocol=SASL_PLAINTEXT\n"
        "sasl.enabled.mechanisms=SCRAM-SHA-256\n"
    )
    monkeypatch.setenv("KAFKA_OPTS", f"-Djava.security.auth.login.config={jaas}")
    assert explain_command(["acl", "--config", str(file), "--user", "a", "--operation", "read", "--topic", "t"]) == 0
    assert capsys.readouterr().out.startswith("allowed: there is no authorizer")


@pytest.mark.parametrize("operation", ["DescribeConfigs", "describe-configs", "DESCRIBE_CONFIGS"])
@pytest.mark.parametrize(
    ("resource", "resource_type", "name"),
    [
        (["--topic", "t"], AclResourceType.TOPIC, "t"),
        (["--cluster"], AclResourceType.CLUSTER, "kafka-cluster"),
    ],
)
def test_question_is_read_from_the_arguments(
    operation: str, resource: list[str], resource_type: AclResourceType, name: str
) -> None:
    arguments = ["acl", "--config", "x", "--user", "a", "--host", "::1", "--operation", operation, *resource]
    question = AclQuestion("User:a", "0:0:0:0:0:0:0:1", AclOperation.DESCRIBE_CONFIGS, resource_type, name)
    assert question_of(arguments) == (Path("x"), question)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "a subject is missing; subjects: acl"),
        (["quota"], "quota: unknown subject"),
        (["acl", "--operation", "Read", "--topic", "t"], "USER is missing"),
        (["acl", "--user", "a", "--operation", "Read"], "RESOURCE is missing"),
        (["acl", "--user", "a", "--operation", "Reed", "--topic", "t"], "operations on a Topic: Read, Write, Create"),
        (
            ["acl", "--user", "a", "--operation", "Write", "--group", "g"],
            "operations on a Group: Read, Delete, Describe",
        ),
        (["acl", "--user", "a", "--operation", "Read", "--topic", "t", "--group", "g"], "not allowed with"),
    ],
)
def test_bad_arguments_are_refused_with_the_way_out(arguments: list[str], words: str) -> None:
    with pytest.raises(CommandError, match=words) as raised:
        question_of(arguments)
    assert raised.value.exit_code == 2
