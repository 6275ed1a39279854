"""Tests of the settings of the authorizer."""

import pytest
from pybroker.config.authorization import (
    ACL_AUTHORIZER,
    AuthorizationSettings,
    misspelt_super_users,
    warning_of_open_store,
)
from pybroker.config.config import Config
from pybroker.config.config_error import ConfigError
from pybroker.config.dynamic_layers import DynamicLayers
from pybroker.config.given import Given, Source
from pybroker.config.load import load_config
from pybroker.config.notices import notices

ON = {"authorizer.class.name": ACL_AUTHORIZER}


def config(values: dict[str, str]) -> Config:
    return Config({name: Given(text, Source.FILE, "settings line 1") for name, text in values.items()})


def settings(values: dict[str, str]) -> AuthorizationSettings | None:
    return AuthorizationSettings.from_config(config(values))


def test_no_authorizer_is_the_default() -> None:
    assert settings({}) is None
    assert settings({"authorizer.class.name": " "}) is None


def test_authorizer_denies_by_default_and_has_no_super_users() -> None:
    assert settings(ON) == AuthorizationSettings(frozenset(), False)


@pytest.mark.parametrize(
    ("text", "users"),
    [
        ("", set()),
        ("User:a", {"User:a"}),
        (" User:a ; User:b;", {"User:a", "User:b"}),
        ("User:CN=a,O=b, C=c;User:x:y", {"User:CN=a,O=b, C=c", "User:x:y"}),
        ("User:ANONYMOUS", {"User:ANONYMOUS"}),
    ],
)
def test_super_users_are_separated_by_semicolons(text: str, users: set[str]) -> None:
    assert settings({**ON, "super.users": text}) == AuthorizationSettings(frozenset(users), False)


@pytest.mark.parametrize(("text", "value"), [("true", True), ("TRUE ", True), ("false", False)])
def test_everyone_may_be_allowed_where_no_acl_applies(text: str, value: bool) -> None:
    assert settings({**ON, "allow.everyone.if.no.acl.found": text}) == AuthorizationSettings(frozenset(), value)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({**ON, "super.users": "alice"}, "nobody can be 'alice': a super user must have the form User:name"),
        ({**ON, "super.users": "User:a;;User:b"}, "nobody can be '': a super user must have the form User:name"),
        ({**ON, "super.users": "user:a"}, "nobody can be 'user:a'"),
        ({**ON, "super.users": "Group:admins"}, "nobody can be 'Group:admins'"),
        ({**ON, "super.users": "User:"}, "nobody can be 'User:'"),
        ({**ON, "super.users": "User: alice"}, "nobody can be 'User: alice': remove the blank after User:"),
        ({**ON, "super.users": "User:*"}, "it would be a user whose name is *, not everyone"),
        ({**ON, "super.users": "User:a, User:b"}, "super users are separated by semicolons"),
        ({**ON, "allow.everyone.if.no.acl.found": "yes"}, "must be true or false"),
        ({"super.users": "User:a"}, f"it protects nothing without authorizer.class.name={ACL_AUTHORIZER}"),
        ({"allow.everyone.if.no.acl.found": "false"}, "it protects nothing without authorizer.class.name"),
        ({"authorizer.class.name": "com.example.Mine"}, f"the only authorizer is {ACL_AUTHORIZER}"),
        (
            {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"},
            "it works in KRaft mode only",
        ),
    ],
)
def test_setting_that_would_not_protect_is_refused_with_its_place(values: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError) as raised:
        settings(values)
    assert words in str(raised.value)
    assert "(settings line 1): " in str(raised.value)


@pytest.mark.parametrize(
    ("values", "is_open"),
    [
        ({}, False),
        ({"zookeeper.connect": "zk:2181"}, True),
        ({"zookeeper.connect": "zk:2181", "zookeeper.set.acl": "true"}, False),
        ({"zookeeper.connect": "zk:2181", "zookeeper.ssl.client.enable": "true"}, False),
    ],
)
def test_operator_is_warned_of_acls_that_anyone_can_change(values: dict[str, str], is_open: bool) -> None:
    warning = warning_of_open_store(config(values))
    assert (warning is not None) is is_open
    assert warning is None or "ZooKeeper at zk:2181" in warning


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ({}, True),
        ({"ssl.principal.mapping.rules": "DEFAULT"}, True),
        ({"listener.name.ssl.ssl.principal.mapping.rules": "RULE:^CN=(.*)$/$1/L,DEFAULT"}, False),
    ],
)
def test_super_user_that_no_certificate_names_is_told_unless_rules_make_names(
    rules: dict[str, str], told: bool
) -> None:
    given = config({**ON, "super.users": "User:CN=a, O=b;User:CN=a,O=b;User:alice", **rules})
    known = AuthorizationSettings.from_config(given)
    assert known is not None
    expected = [("User:CN=a, O=b", "write User:CN=a,O=b")] if told else []
    assert list(misspelt_super_users(given, known.super_users)) == expected


def test_settings_of_the_authorizer_are_checked_and_known_at_the_start() -> None:
    text = f"authorizer.class.name={ACL_AUTHORIZER}\nsuper.users=User:a\nallow.everyone.if.no.acl.found=true"
    known = load_config(text)
    assert AuthorizationSettings.from_config(known) == AuthorizationSettings(frozenset({"User:a"}), True)
    assert notices(known) == []
    with pytest.raises(ConfigError, match="nobody can be 'a'"):
        load_config(f"authorizer.class.name={ACL_AUTHORIZER}\nsuper.users=a")
    with pytest.raises(ConfigError, match="it protects nothing without"):
        load_config("super.users=User:a")


def test_super_user_set_while_the_broker_runs_is_not_one() -> None:
    at_start = {"authorizer.class.name": Given(ACL_AUTHORIZER, Source.FILE, "settings line 1")}
    changed = Config(at_start, DynamicLayers(per_broker={"super.users": "User:thief"}))
    assert AuthorizationSettings.from_config(changed) == AuthorizationSettings(frozenset(), False)
