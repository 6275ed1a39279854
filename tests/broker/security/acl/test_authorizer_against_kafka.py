"""Apache Kafka's AclAuthorizer gives the same verdicts on random ACLs."""

import subprocess
from pathlib import Path
from random import Random

from pybroker.base.acl_rules.acl_index import AclIndex
from pybroker.base.acl_rules.authorizer import AclAuthorizer
from pybroker.base.acl_rules.host_text import host_text
from pybroker.base.acls import (
    CONCRETE_OPERATIONS,
    AclBinding,
    AclEntry,
    AclOperation,
    AclResourceType,
    ResourcePattern,
)
from support.acls import HOSTS, NAMES, PATTERN_TYPES, PERMISSIONS, PRINCIPALS, RESOURCE_TYPES, by_pattern
from support.processes.java import java_command

PROBE = str(Path(__file__).with_name("AclAuthorizerProbe.java"))
SETS, QUESTIONS = 200, 60
ADDRESSES = ("127.0.0.1", "::1", "::", "2001:db8::a:0", "::ffff:10.1.2.3", "::10.1.2.3", "64:ff9b::10.1.2.3")
Question = tuple[str, str, AclOperation, AclResourceType, str]


def ask_kafka(lines: list[str]) -> list[str]:
    ended = subprocess.run(
        java_command(PROBE), input="\n".join(lines), capture_output=True, encoding="utf-8", check=True
    )
    return ended.stdout.splitlines()


def random_acls(random: Random) -> list[AclBinding]:
    # Few operations, so that rules meet each other and the questions.
    operations = (*random.sample(CONCRETE_OPERATIONS, 3), AclOperation.ALL)
    return [
        AclBinding(
            ResourcePattern(random.choice(RESOURCE_TYPES), random.choice(NAMES), random.choice(PATTERN_TYPES)),
            AclEntry(
                random.choice((*PRINCIPALS, "User:*")),
                random.choice((*HOSTS, "*", "*")),
                random.choice(operations),
                random.choice(PERMISSIONS),
            ),
        )
        for _ in range(random.randrange(9))
    ]


def random_question(random: Random, acls: list[AclBinding]) -> Question:
    operations = [acl.entry.operation for acl in acls if acl.entry.operation is not AclOperation.ALL]
    implied = [AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS]
    return (
        random.choice(PRINCIPALS),
        random.choice(HOSTS),
        random.choice([*operations, *implied, AclOperation.WRITE]),
        random.choice(RESOURCE_TYPES),
        random.choice((*NAMES, "abcd", "c")),
    )


def test_kafka_gives_the_same_verdicts() -> None:
    random = Random(391)
    lines: list[str] = []
    expected: list[str] = []
    asked: list[tuple[object, ...]] = []
    for number in range(SETS):
        acls = random_acls(random)
        allow_everyone = number % 4 == 0
        ours = AclAuthorizer(AclIndex(by_pattern(acls)), allow_everyone=allow_everyone)
        lines.append(f"new\t{allow_everyone}")
        for pattern, entry in acls:
            fields = ("acl", int(pattern.resource_type), int(pattern.pattern_type), pattern.name, *entry)
            lines.append("\t".join(str(int(field)) if isinstance(field, int) else str(field) for field in fields))
        for _ in range(QUESTIONS):
            principal, host, operation, kind, name = question = random_question(random, acls)
            lines.append(f"may\t{principal}\t{host}\t{int(operation)}\t{int(kind)}\t{name}")
            lines.append(f"any\t{principal}\t{host}\t{int(operation)}\t{int(kind)}")
            expected += [str(ours.may(*question)).lower(), str(ours.may_by_resource_type(*question[:4])).lower()]
            asked += [(acls, "may", question), (acls, "any", question)]
    verdicts = ask_kafka(lines)
    differences = [(case, kafka) for case, kafka, our in zip(asked, verdicts, expected, strict=True) if kafka != our]
    assert differences[:3] == []
    assert {verdicts.count("true") > SETS, verdicts.count("false") > SETS} == {True}


def test_java_writes_addresses_in_the_same_way() -> None:
    assert ask_kafka([f"host\t{address}" for address in ADDRESSES]) == [host_text(address) for address in ADDRESSES]
