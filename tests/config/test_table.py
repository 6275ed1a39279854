"""The table of settings agrees with the definitions that Apache Kafka 3.9.1 prints."""

import json
from pathlib import Path
from typing import Any

import pytest
from pybroker.config.setting import AppliesWhen, Scope, Setting, SupportKind
from pybroker.config.settings import newer_groups, observing, own
from pybroker.config.table import BROKER_SECTIONS, BROKER_SETTINGS, TOPIC_SETTINGS

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "settings.json").read_text(encoding="utf-8"))

# Kafka prints a sentence of documentation where the others have a range, or Kafka 4.2 takes more values.
OWN_WORDS = {
    "group.coordinator.append.linger.ms": "[-1,...]",
    "group.coordinator.rebalance.protocols": "[consumer, classic, share, streams]",
    "group.share.max.size": "[1,...,1000]",
    "group.share.record.lock.duration.ms": "[1000,...,3600000]",
    "remote.log.manager.copier.thread.pool.size": "[1,...] or -1",
    "remote.log.manager.expiration.thread.pool.size": "[1,...] or -1",
}


def described(setting: Setting) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": setting.name,
        "type": setting.type.value,
        "default": setting.default,
        "importance": setting.importance.value,
    }
    if setting.check is not None:
        row["valid"] = str(setting.check)
    if setting.scope in (Scope.PER_BROKER, Scope.CLUSTER_WIDE):
        row["dynamic"] = setting.scope.value
    if setting.internal:
        row["internal"] = True
    if setting.synonyms:
        row["brokerSynonyms"] = list(setting.synonyms)
    return row


def expected(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "valid": OWN_WORDS[row["name"]]} if row["name"] in OWN_WORDS else row


@pytest.mark.parametrize("row", REFERENCE["broker"], ids=lambda row: row["name"])
def test_broker_setting_equals_kafkas_definition(row: dict[str, Any]) -> None:
    assert described(BROKER_SETTINGS[row["name"]]) == expected(row)


@pytest.mark.parametrize("row", REFERENCE["topic"], ids=lambda row: row["name"])
def test_topic_setting_equals_kafkas_definition(row: dict[str, Any]) -> None:
    assert described(TOPIC_SETTINGS[row["name"]]) == row


def test_table_has_only_settings_of_kafka_and_pybroker() -> None:
    """The settings of share sessions and of the share coordinator are of Kafka 4."""
    assert set(BROKER_SETTINGS) == {row["name"] for row in REFERENCE["broker"]} | {
        setting.name for setting in (*own.SETTINGS, *observing.SETTINGS, *newer_groups.SETTINGS)
    }
    assert set(TOPIC_SETTINGS) == {row["name"] for row in REFERENCE["topic"]}


def test_every_setting_is_declared_once() -> None:
    names = [setting.name for _, rows in BROKER_SECTIONS for setting in rows]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("setting", [*BROKER_SETTINGS.values(), *TOPIC_SETTINGS.values()], ids=lambda row: row.name)
def test_every_setting_has_one_sentence_and_defaults_that_pass_its_own_check(setting: Setting) -> None:
    assert setting.doc.endswith(".")
    assert len(setting.doc) > 10
    for embedded in (True, False):
        text = setting.default_text(embedded)
        if text is not None:
            setting.parse(text)
    if setting.support.kind is not SupportKind.ACTED_ON:
        assert setting.support.note


def test_defaults_differ_from_kafkas_with_the_embedded_store_only_or_for_being_one_process() -> None:
    different = {
        name: setting.own_default.when for name, setting in BROKER_SETTINGS.items() if setting.own_default is not None
    }
    assert different == {
        "group.consumer.migration.policy": AppliesWhen.ALWAYS,
        "group.coordinator.rebalance.protocols": AppliesWhen.EMBEDDED_STORE,
        "group.initial.rebalance.delay.ms": AppliesWhen.EMBEDDED_STORE,
        "group.share.partition.max.record.locks": AppliesWhen.ALWAYS,
        "log.dir": AppliesWhen.EMBEDDED_STORE,
        "offsets.topic.replication.factor": AppliesWhen.EMBEDDED_STORE,
        "queued.max.request.bytes": AppliesWhen.ALWAYS,
        "socket.listen.backlog.size": AppliesWhen.ALWAYS,
        "socket.receive.buffer.bytes": AppliesWhen.EMBEDDED_STORE,
        "share.coordinator.state.topic.min.isr": AppliesWhen.EMBEDDED_STORE,
        "share.coordinator.state.topic.replication.factor": AppliesWhen.EMBEDDED_STORE,
        "transaction.state.log.min.isr": AppliesWhen.EMBEDDED_STORE,
        "transaction.state.log.replication.factor": AppliesWhen.EMBEDDED_STORE,
    }


def test_security_settings_are_refused_rather_than_ignored() -> None:
    kinds = {
        name: setting.support.kind for name, setting in BROKER_SETTINGS.items() if name.startswith(("ssl.", "sasl."))
    }
    assert {name for name, kind in kinds.items() if kind is SupportKind.REFUSED and name.startswith("sasl.")} == {
        name for name in kinds if name.startswith("sasl.kerberos.")
    }
    assert {name for name, kind in kinds.items() if name.startswith("ssl.") and kind is not SupportKind.ACTED_ON} == {
        "ssl.engine.factory.class",
        "ssl.keymanager.algorithm",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
    }
    for name in (
        "zookeeper.ssl.crl.enable",
        "delegation.token.secret.key",
        "principal.builder.class",
    ):
        assert BROKER_SETTINGS[name].support.kind is SupportKind.REFUSED
