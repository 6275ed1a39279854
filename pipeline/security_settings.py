"""How connections are secured: `kafka.security.protocol`, `kafka.ssl.*` and `kafka.sasl.*`, as Kafka has them.

Readers connect by themselves, writers by librdkafka, which calls some of it differently: the same options do for both.
"""

from __future__ import annotations

import shlex
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field

from .options import OptionError

PLAIN = "PLAIN"
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")

_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_LOGIN_MODULES = {
    PLAIN: "org.apache.kafka.common.security.plain.PlainLoginModule",
    **dict.fromkeys(SCRAM, "org.apache.kafka.common.security.scram.ScramLoginModule"),
}

_CONTROL_FLAGS = ("required", "requisite", "sufficient", "optional")


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """Files in PEM. `certificate_file` holds the client's certificate and, unless `key_file` does, its key."""

    trust_file: str | None
    certificate_file: str | None
    key_file: str | None
    key_password: str | None = field(repr=False)
    check_hostname: bool

    def context(self) -> ssl.SSLContext:
        """Raises OptionError when a file can't be read as PEM."""
        try:
            context = ssl.create_default_context(cafile=self.trust_file)
            context.check_hostname = self.check_hostname
            if self.certificate_file is not None:
                context.load_cert_chain(self.certificate_file, self.key_file, self.key_password)
        except (OSError, ssl.SSLError) as error:
            raise OptionError(f"A file of the options 'kafka.ssl.…' can't be read as PEM: {error}") from None
        return context


@dataclass(frozen=True, slots=True)
class SaslSettings:
    """Who logs in, and by which mechanism: PLAIN, or one of SCRAM."""

    mechanism: str
    user: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class SecuritySettings:
    """`tls` is None for connections in plain text, `sasl` where nobody logs in."""

    tls: TlsSettings | None
    sasl: SaslSettings | None


def take_security(left: dict[str, str]) -> SecuritySettings:
    """Takes what it understands out of `left`, which has names without the prefix `kafka.`. Raises OptionError."""
    protocol = left.pop("security.protocol", "PLAINTEXT").strip().upper()
    if protocol not in _PROTOCOLS:
        raise OptionError(f"Option 'kafka.security.protocol' must be one of {', '.join(_PROTOCOLS)}, not '{protocol}'")
    tls, sasl = _take_tls(left), _take_sasl(left, is_wanted=protocol.startswith("SASL_"))
    return SecuritySettings(tls if protocol.endswith("SSL") else None, sasl)


def librdkafka_security(given: Mapping[str, str]) -> dict[str, str]:
    """The same options by librdkafka's names; others, its own among them, as they are. Raises OptionError."""
    left = dict(given)
    tls = _take_tls(left)
    files = {
        "ssl.ca.location": tls.trust_file,
        "ssl.certificate.location": tls.certificate_file,
        "ssl.key.location": tls.key_file or tls.certificate_file,
        "ssl.key.password": tls.key_password,
        "ssl.endpoint.identification.algorithm": None if tls.check_hostname else "none",
    }
    if "sasl.jaas.config" in left:
        sasl = _take_sasl(left, is_wanted=True)
        assert sasl is not None
        files |= {"sasl.mechanism": sasl.mechanism, "sasl.username": sasl.user, "sasl.password": sasl.password}
    return {name: value for name, value in files.items() if value is not None} | left


def _take_tls(left: dict[str, str]) -> TlsSettings:
    for store in ("truststore", "keystore"):
        kind = left.pop(f"ssl.{store}.type", "JKS").strip().upper()
        if f"ssl.{store}.location" in left and kind != "PEM":
            raise OptionError(f"Option 'kafka.ssl.{store}.type' must be PEM: there is no Java to read another")
    algorithm = left.pop("ssl.endpoint.identification.algorithm", "https").strip().lower()
    if algorithm not in ("https", "", "none"):
        raise OptionError(
            f"Option 'kafka.ssl.endpoint.identification.algorithm' must be https or empty, not '{algorithm}'"
        )
    return TlsSettings(
        trust_file=left.pop("ssl.truststore.location", None),
        certificate_file=left.pop("ssl.keystore.location", None),
        key_file=left.pop("ssl.key.location", None),
        key_password=left.pop("ssl.key.password", None),
        check_hostname=algorithm == "https",
    )


def _take_sasl(left: dict[str, str], *, is_wanted: bool) -> SaslSettings | None:
    mechanism, jaas = left.pop("sasl.mechanism", "GSSAPI").strip().upper(), left.pop("sasl.jaas.config", None)
    if not is_wanted:
        return None
    if mechanism not in _LOGIN_MODULES:
        listed = ", ".join(_LOGIN_MODULES)
        raise OptionError(f"Option 'kafka.sasl.mechanism' must be one of {listed}, not '{mechanism}'")
    if jaas is None:
        raise OptionError("Option 'kafka.sasl.jaas.config' must be given: it says who logs in")
    module, options = _jaas_entry(jaas)
    if module != _LOGIN_MODULES[mechanism]:
        raise OptionError(
            f"Option 'kafka.sasl.jaas.config' names {module}, 'kafka.sasl.mechanism' {mechanism} is by "
            f"{_LOGIN_MODULES[mechanism]}"
        )
    for name in "username", "password":
        if name not in options:
            raise OptionError(f"Option 'kafka.sasl.jaas.config' has no {name}")
    return SaslSettings(mechanism, options["username"], options["password"])


def _jaas_entry(text: str) -> tuple[str, dict[str, str]]:
    """Login module and options of `Module required name="value" …;`. The error does not repeat what has a password."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars="=;")
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        module, flag, *tokens, end = lexer
    except ValueError:  # a quotation is not closed, or there is too little
        module, flag, tokens, end = "", "", [], ""
    names, equals, values = tokens[0::3], tokens[1::3], tokens[2::3]
    if flag.lower() not in _CONTROL_FLAGS or end != ";" or set(equals) - {"="} or len(names) != len(values):
        example = f'{_LOGIN_MODULES[PLAIN]} required username="…" password="…";'
        raise OptionError(f"Option 'kafka.sasl.jaas.config' must be like {example}")
    return module, dict(zip(names, values, strict=True))
