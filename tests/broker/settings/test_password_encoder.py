"""Passwords are encrypted for the metadata tree as Kafka encrypts them, and read again."""

import subprocess
from base64 import b64decode, b64encode
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.settings.password_encoder import EncodedPasswordError, PasswordEncoder
from pybroker.config.config_error import ConfigError
from pybroker.config.load import unchecked_config
from support.processes.java import java_command

SECRET = "the sécret"
PASSWORDS = ("", "p", "sixteen letters.", "Grüße 😀, a:b,c=\n", "x" * 3000)
CIPHERS = ("AES/CBC/PKCS5Padding", "AES/GCM/NoPadding")
KEY_FACTORIES = ("PBKDF2WithHmacSHA512", "PBKDF2WithHmacSHA1")
ENCODERS = [
    PasswordEncoder(SECRET, key_factory, cipher, bits, 1024)
    for cipher, key_factory, bits in product(CIPHERS, KEY_FACTORIES, (128, 256))
]


def encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


def java_lines(lines: list[str]) -> list[str]:
    command = java_command(str(Path(__file__).parent / "KafkaPasswordProbe.java"), SECRET)
    ended = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=True)
    return ended.stdout.splitlines()


def changed(text: str, **fields: str) -> str:
    """``text`` with other values of some fields; "": the field is left out."""
    pairs = dict(each.split(":", 1) for each in text.split(","))
    return ",".join(f"{name}:{value}" for name, value in {**pairs, **fields}.items() if value)


@given(password=st.text(alphabet=st.characters(exclude_categories=["Cs"])), encoder=st.sampled_from(ENCODERS))
def test_any_password_is_read_as_it_was_encoded(password: str, encoder: PasswordEncoder) -> None:
    text = encoder.encode({"name": password})["name"]
    assert PasswordEncoder(SECRET).decode(text) == password


def test_kafka_reads_our_passwords_and_we_read_those_of_kafka() -> None:
    cases = list(product(ENCODERS, PASSWORDS))
    ours = [encoder.encode({"name": password})["name"] for encoder, password in cases]
    decode = [f"decode {each[0].cipher} {encoded(text)}" for each, text in zip(cases, ours, strict=True)]
    encode = [
        f"encode {each.cipher} {each.key_factory} {each.key_bits} {encoded(password)}" for each, password in cases
    ]
    found = java_lines([*decode, *encode])
    passwords = [password for _, password in cases]
    assert [b64decode(line).decode() for line in found[: len(cases)]] == passwords
    assert [PasswordEncoder(SECRET).decode(line) for line in found[len(cases) :]] == passwords


@pytest.mark.parametrize("encoder", ENCODERS[:1] + ENCODERS[-1:])
@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"salt": "AAAA"}, "another secret"),
        ({"iterations": "1025"}, "another secret"),
        ({"iterations": "many"}, "another secret, or is damaged"),
        ({"iterations": "2000000000"}, "a way that pybroker does not have"),
        ({"keyFactoryAlgorithm": "PBKDF2WithHmacMD5"}, "a way that pybroker does not have"),
        ({"cipherAlgorithm": "DES"}, "'DES' is missing or unknown"),
        ({"encryptedPassword": ""}, "'encryptedPassword' is missing"),
        ({"encryptedPassword": "AAAA"}, "damaged"),
        ({"passwordLength": "3"}, "another secret, or is damaged"),
        ({"initializationVector": "AA=="}, "damaged"),
    ],
)
def test_unreadable_text_is_refused_and_no_secret_is_in_the_error(
    encoder: PasswordEncoder, fields: dict[str, str], why: str
) -> None:
    text = encoder.encode({"name": "canary"})["name"]
    with pytest.raises(EncodedPasswordError, match=why) as caught:
        encoder.decode(changed(text, **fields))
    assert "canary" not in f"{caught.value!r} {encoder!r}"
    assert SECRET not in f"{caught.value!r} {encoder!r}"


@pytest.mark.parametrize("encoder", ENCODERS)
def test_another_secret_reads_nothing(encoder: PasswordEncoder) -> None:
    text = encoder.encode({"name": "canary"})["name"]
    for number in range(300):  # with CBC, one wrong key in 256 leaves a valid padding
        with pytest.raises(EncodedPasswordError, match="another secret"):
            PasswordEncoder(f"other {number}").decode(text)


@pytest.mark.parametrize("text", ["", "canary", "a:b", "salt:", ",,,", ":"])
def test_password_that_is_not_encrypted_is_refused(text: str) -> None:
    with pytest.raises(EncodedPasswordError, match="not encrypted as Kafka does it"):
        PasswordEncoder(SECRET).decode(text)


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("secret", "", "password.encoder.secret: must not be empty"),
        ("cipher.algorithm", "DES/CBC/PKCS5Padding", "must be one of AES/CBC/PKCS5Padding, AES/GCM/NoPadding"),
        ("keyfactory.algorithm", "PBKDF2WithHmacMD5", "must be one of PBKDF2WithHmacSHA1"),
        ("key.length", "64", "password.encoder.key.length=64: must be one of 128, 192, 256"),
        ("iterations", "2000000000", "must be at most 10000000"),
    ],
)
def test_settings_that_cannot_encrypt_are_refused(name: str, value: str, why: str) -> None:
    settings = {"password.encoder.secret": SECRET, f"password.encoder.{name}": value}
    with pytest.raises(ConfigError, match=why):
        PasswordEncoder.from_config(unchecked_config("", settings))


def test_without_a_secret_there_is_no_encoder() -> None:
    assert PasswordEncoder.from_config(unchecked_config("password.encoder.cipher.algorithm=DES")) is None
