"""Tests of the JAAS parser: what Java reads, values of every kind, and refusals that show no secrets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.config.jaas import (
    OAUTHBEARER,
    PLAIN,
    SCRAM_SHA_256,
    JaasEntry,
    JaasError,
    options_for,
    parse_jaas_config,
    parse_jaas_file,
    plain_users,
    server_entries,
)

PACKAGE = "org.apache.kafka.common.security"
PLAIN_MODULE = f"{PACKAGE}.plain.PlainLoginModule"
SCRAM_MODULE = f"{PACKAGE}.scram.ScramLoginModule"
OAUTH_MODULE = f"{PACKAGE}.oauthbearer.OAuthBearerLoginModule"


def options_of(text: str) -> dict[str, str]:
    return dict(parse_jaas_config(f"{PLAIN_MODULE} required {text};", PLAIN).options)


def quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


NAMES = st.text(st.characters(codec="ascii", categories=["L", "N"], include_characters="_.-"), min_size=1).filter(
    lambda name: name[0].isalpha()
)
VALUES = st.text(st.characters(exclude_categories=["Cs"])).filter(lambda value: "${" not in value)


@given(st.dictionaries(NAMES, VALUES))
def test_options_are_read_as_they_were_written(options: dict[str, str]) -> None:
    text = " ".join(f"{name}={quoted(value)}" for name, value in options.items())
    assert options_of(text) == options


@given(st.dictionaries(NAMES, VALUES))
def test_file_has_the_options_of_each_section(options: dict[str, str]) -> None:
    entry = " ".join([PLAIN_MODULE, "required", *(f"{name}={quoted(value)}" for name, value in options.items())])
    sections = parse_jaas_file(f"KafkaServer {{ {entry}; }};\nsasl_ssl.KafkaServer {{ {entry}; {entry}; }};")
    assert [dict(each.options) for each in sections["KafkaServer"]] == [options]
    assert [dict(each.options) for each in sections["sasl_ssl.KafkaServer"]] == [options, options]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("username=alice password='a b'", {"username": "alice", "password": "a b"}),
        ('p="a;b//c#d=e"', {"p": "a;b//c#d=e"}),
        (r'p="\"\\\'\t\101\377\477\8"', {"p": "\"\\'\tA\u00ff'78"}),
        ("p=a-b_c.d$7", {"p": "a-b_c.d$7"}),
        ("p=a /* x */ q=b // y\n r = c", {"p": "a", "q": "b", "r": "c"}),
        ("p=a / a single slash begins a comment\n q=b", {"p": "a", "q": "b"}),
        ('p="a" p="b"', {"p": "b"}),
        ('"p q"="ü😀"', {"p q": "ü😀"}),
        ("p=ü😀", {"p": "ü😀"}),
    ],
)
def test_text_is_split_as_by_javas_stream_tokenizer(text: str, expected: dict[str, str]) -> None:
    assert options_of(text) == expected


def test_flag_may_be_in_upper_case() -> None:
    assert parse_jaas_config(f"{SCRAM_MODULE} REQUIRED;", SCRAM_SHA_256) == JaasEntry(SCRAM_MODULE, "required", {})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "one login module, not 0"),
        (f"{PLAIN_MODULE} required; {PLAIN_MODULE} required;", "one login module, not 2"),
        (f"{SCRAM_MODULE} required;", f"it names {SCRAM_MODULE}, but PLAIN needs {PLAIN_MODULE}"),
        (f"{PLAIN_MODULE} maybe p=secret;", "control flag"),
        (f"{PLAIN_MODULE}", "control flag before the end"),
        (f"{PLAIN_MODULE} required p=secret", "expected ';' before the end"),
        (f"{PLAIN_MODULE} required p=my secret;", "expected '=' behind the name of an option"),
        (f"{PLAIN_MODULE} required p=;", "the value of option p"),
        (f"{PLAIN_MODULE} required p=7secret;", "put it in double quotes"),
        (f"{PLAIN_MODULE} required p=#secret;", "put it in double quotes"),
        (f"{PLAIN_MODULE} required ='secret';", "expected an option"),
        (f'{PLAIN_MODULE} required\np="secret\n";', "line 2: a quote is not closed"),
        (f"{PLAIN_MODULE} required /* secret", "line 1: a comment is not closed"),
        (f'{PLAIN_MODULE} required p="secret${{file:/x:y}}";', "option p has ${…}"),
        (f"{SCRAM_MODULE} required tokenauth=TRUE;", "delegation tokens"),
        ("com.sun.security.auth.module.JndiLoginModule required p=secret;", "JndiLoginModule is not supported"),
        ("com.sun.security.auth.module.LdapLoginModule required p=secret;", "LdapLoginModule is not supported"),
        ("com.sun.security.auth.module.Krb5LoginModule required p=secret;", "GSSAPI"),
        ("secret required;", "may be a password"),
        ("PlainLoginModule required p=secret;", "PlainLoginModule is not supported"),
    ],
)
def test_bad_text_is_refused_without_showing_secrets(text: str, says: str) -> None:
    with pytest.raises(JaasError) as error:
        parse_jaas_config(text, PLAIN)
    assert says in str(error.value)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"KafkaServer {{ {PLAIN_MODULE} required p=1; }};", "put it in double quotes"),
        (f"KafkaServer {{ {PLAIN_MODULE} required p='secret'; }};", "put it in double quotes"),
        (f"KafkaServer {{ {PLAIN_MODULE} required p=a:b; }};", "expected an option"),
        (f"KafkaServer {{ {PLAIN_MODULE} required; }}", "expected ';' before the end"),
        (f"KafkaServer {PLAIN_MODULE} required;", "expected '{'"),
        ("KafkaServer { };\nKafkaServer { };", "section KafkaServer is there twice"),
        (f"Client {{ {PLAIN_MODULE} required; }};", "SASL to ZooKeeper"),
        ("; {", "the name of a section"),
    ],
)
def test_bad_file_is_refused_without_showing_secrets(text: str, says: str) -> None:
    with pytest.raises(JaasError) as error:
        parse_jaas_file(text)
    assert says in str(error.value)
    assert "secret" not in str(error.value)


def test_section_of_the_listener_replaces_the_common_section() -> None:
    sections = parse_jaas_file(
        f"KafkaServer {{ {PLAIN_MODULE} required p=common; }};\n"
        f"outside.KafkaServer {{ {PLAIN_MODULE} required p=own; }};"
    )
    assert [dict(each.options) for each in server_entries(sections, "OUTSIDE")] == [{"p": "own"}]
    assert [dict(each.options) for each in server_entries(sections, "INSIDE")] == [{"p": "common"}]
    with pytest.raises(JaasError, match=r"neither section inside\.KafkaServer nor KafkaServer"):
        server_entries({}, "INSIDE")


def test_each_mechanism_gets_the_options_of_its_module() -> None:
    plain = f"{PLAIN_MODULE} required username=a user_b=first;"
    scram = f"{SCRAM_MODULE} required username=c;"
    sections = parse_jaas_file(f"KafkaServer {{ {plain} {scram} {PLAIN_MODULE} required user_b=second user_c=c; }};")
    entries = server_entries(sections, "L")
    assert options_for(PLAIN, entries) == {"username": "a", "user_b": "first", "user_c": "c"}
    assert options_for(SCRAM_SHA_256, entries) == {"username": "c"}
    assert options_for(OAUTHBEARER, entries) is None
    assert plain_users(options_for(PLAIN, entries) or {}) == {"b": "first", "c": "c"}


@pytest.mark.parametrize("options", [{"user_": "secret"}, {"user_a": ""}])
def test_user_without_name_or_password_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(JaasError, match="may be empty") as error:
        plain_users(options)
    assert "secret" not in str(error.value)


def test_repr_of_an_entry_shows_no_options() -> None:
    assert "secret" not in repr(parse_jaas_config(f"{OAUTH_MODULE} required clientSecret=secret;", OAUTHBEARER))
