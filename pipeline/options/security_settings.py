"""Security settings of connections: `kafka.security.protocol`, `kafka.ssl.*` and `kafka.sasl.*`, with Kafka's names.

Readers use them directly. Writers use librdkafka, which has other names for some of them; the same options work for
both.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from tempfile import NamedTemporaryFile
from textwrap import wrap

from ...base.kafka_names import SECURITY_PROTOCOLS
from ...config.jaas import JaasError, parse_jaas_config
from ...protocol.client.sasl import PLAIN, SCRAM, Credentials
from .options import OptionError

_LOGIN_MODULES = {
    PLAIN: "org.apache.kafka.common.security.plain.PlainLoginModule",
    **dict.fromkeys(SCRAM, "org.apache.kafka.common.security.scram.ScramLoginModule"),
}

_PEM = re.compile(r"-----BEGIN ([A-Z ]+)-----(.+?)-----END \1-----", re.DOTALL)
_PEM_COLUMNS = 64


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """PEM files, or PEM text given in options. The client's certificate file also holds its key unless `key_file` is
    set. Without a truststore, the system's certificates are trusted.
    """

    trust_file: str | None
    certificate_file: str | None
    key_file: str | None
    key_password: str | None = field(repr=False)
    check_hostname: bool
    trust_text: str | None = None
    certificate_text: str | None = field(default=None, repr=False)

    def context(self) -> ssl.SSLContext:
        """Returns the TLS context. Raises OptionError for unreadable PEM."""
        try:
            context = ssl.create_default_context(cafile=self.trust_file, cadata=self.trust_text)
            context.check_hostname = self.check_hostname
            if self.certificate_file is not None:
                context.load_cert_chain(self.certificate_file, self.key_file, self.key_password)
            elif self.certificate_text is not None:
                self._load_text(context, self.certificate_text)
        except (OSError, ssl.SSLError) as error:
            raise OptionError(f"The PEM in options 'kafka.ssl.…' can't be read: {error}") from None
        return context

    def _load_text(self, context: ssl.SSLContext, text: str) -> None:
        with NamedTemporaryFile(
            "w", suffix=".pem"
        ) as file:  # Python's TLS reads certificates only from files; this one is private
            file.write(text)
            file.flush()
            context.load_cert_chain(file.name, None, self.key_password)


@dataclass(frozen=True, slots=True)
class SecuritySettings:
    """`tls` is None for plaintext connections, `sasl` is None without login."""

    tls: TlsSettings | None
    sasl: Credentials | None


def take_security(left: dict[str, str]) -> SecuritySettings:
    """Removes the security options from `left`, whose names lack the prefix `kafka.`, and returns them checked. Raises
    OptionError.
    """
    protocol = left.pop("security.protocol", "PLAINTEXT").strip().upper()
    if protocol not in SECURITY_PROTOCOLS:
        raise OptionError(
            f"Option 'kafka.security.protocol' must be one of {', '.join(SECURITY_PROTOCOLS)}, not '{protocol}'"
        )
    tls, sasl = _take_tls(left), _take_sasl(left, is_wanted=protocol.startswith("SASL_"))
    return SecuritySettings(tls if protocol.endswith("SSL") else None, sasl)


def librdkafka_security(given: Mapping[str, str]) -> dict[str, str]:
    """Returns the security options by librdkafka's names, and all other options unchanged. Raises OptionError."""
    left = dict(given)
    tls = _take_tls(left)
    named = {
        "ssl.ca.location": tls.trust_file,
        "ssl.ca.pem": tls.trust_text,
        "ssl.certificate.location": tls.certificate_file,
        "ssl.certificate.pem": tls.certificate_text,
        "ssl.key.location": tls.key_file or tls.certificate_file,
        "ssl.key.pem": tls.certificate_text,
        "ssl.key.password": tls.key_password,
        "ssl.endpoint.identification.algorithm": None if tls.check_hostname else "none",
    }
    if "sasl.jaas.config" in left:
        sasl = _take_sasl(left, is_wanted=True)
        assert sasl is not None
        named |= {"sasl.mechanism": sasl.mechanism, "sasl.username": sasl.user, "sasl.password": sasl.password}
    return {name: value for name, value in named.items() if value is not None} | left


def _take_tls(left: dict[str, str]) -> TlsSettings:
    trust_file, trust_text = _take_store(left, "truststore", "certificates")
    certificate_file, certificate_text = _take_store(left, "keystore", "certificate.chain", "key")
    algorithm = left.pop("ssl.endpoint.identification.algorithm", "https").strip().lower()
    if algorithm not in ("https", "", "none"):
        raise OptionError(
            f"Option 'kafka.ssl.endpoint.identification.algorithm' must be https or empty, not '{algorithm}'"
        )
    return TlsSettings(
        trust_file=trust_file,
        certificate_file=certificate_file,
        key_file=left.pop("ssl.key.location", None),
        key_password=left.pop("ssl.key.password", None),
        check_hostname=algorithm == "https",
        trust_text=trust_text,
        certificate_text=certificate_text,
    )


def _take_store(left: dict[str, str], store: str, *parts: str) -> tuple[str | None, str | None]:
    """Returns the PEM file of a store, or its PEM text from the options `parts` (KIP-651); None for the missing one."""
    kind, place = left.pop(f"ssl.{store}.type", "JKS").strip().upper(), f"ssl.{store}.location"
    file = left.pop(place, None)
    names = [f"ssl.{store}.{part}" for part in parts]
    given = {name: left.pop(name) for name in names if name in left}
    if (file is not None or given) and kind != "PEM":
        raise OptionError(f"Option 'kafka.ssl.{store}.type' must be PEM: other types need Java")
    if file is not None and given:
        raise OptionError(f"Options 'kafka.{place}' and 'kafka.{names[0]}' contradict each other: give one of them")
    for name in names if given else ():
        if name not in given:
            raise OptionError(f"Option 'kafka.{name}' must be given together with the other options of the {store}")
    return file, "".join(_pem(name, text) for name, text in given.items()) or None


def _pem(name: str, text: str) -> str:
    """Returns PEM text with the line breaks that OpenSSL needs; options may have blanks instead. The error does not
    show the text, which may be a key.
    """
    blocks = _PEM.findall(text)
    if not blocks:
        raise OptionError(f"Option 'kafka.{name}' is not valid PEM")
    return "".join(
        "\n".join([f"-----BEGIN {kind}-----", *wrap("".join(body.split()), _PEM_COLUMNS), f"-----END {kind}-----", ""])
        for kind, body in blocks
    )


def _take_sasl(left: dict[str, str], *, is_wanted: bool) -> Credentials | None:
    mechanism, jaas = left.pop("sasl.mechanism", "GSSAPI").strip().upper(), left.pop("sasl.jaas.config", None)
    if not is_wanted:
        return None
    if mechanism not in _LOGIN_MODULES:
        listed = ", ".join(_LOGIN_MODULES)
        raise OptionError(f"Option 'kafka.sasl.mechanism' must be one of {listed}, not '{mechanism}'")
    if jaas is None:
        raise OptionError("Option 'kafka.sasl.jaas.config' must be given: it has user and password")
    options = _jaas_options(jaas, mechanism)
    for name in "username", "password":
        if name not in options:
            raise OptionError(f"Option 'kafka.sasl.jaas.config' has no {name}")
    return Credentials(mechanism, options["username"], options["password"])


def _jaas_options(text: str, mechanism: str) -> Mapping[str, str]:
    """Returns the options of the one login module. The error does not show the text, which has a password."""
    try:
        return parse_jaas_config(text, mechanism).options
    except JaasError as error:
        example = f'{_LOGIN_MODULES[mechanism]} required username="…" password="…";'
        raise OptionError(f"Option 'kafka.sasl.jaas.config' must be like {example} But {error}") from None
