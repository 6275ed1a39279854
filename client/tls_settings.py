"""TLS settings of a client: the options `ssl.*`, with Kafka's names."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from textwrap import wrap
from typing import TYPE_CHECKING

from .given_options import GivenOptions, OptionError

if TYPE_CHECKING:
    import ssl

_PEM = re.compile(r"-----BEGIN ([A-Z ]+)-----(.+?)-----END \1-----", re.DOTALL)
_PEM_COLUMNS = 64


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """PEM files, or PEM text given in options. The client's certificate file also holds its key unless `key_file` is
    set. Without a truststore, the system's certificates are trusted. `prefix` stands before the names of options.
    """

    trust_file: str | None
    certificate_file: str | None
    key_file: str | None
    key_password: str | None = field(repr=False)
    check_hostname: bool
    trust_text: str | None = None
    certificate_text: str | None = field(default=None, repr=False)
    prefix: str = field(default="", compare=False)

    def context(self) -> ssl.SSLContext:
        """Returns the TLS context. Raises OptionError for unreadable PEM."""
        import ssl  # slow to import

        try:
            context = ssl.create_default_context(cafile=self.trust_file, cadata=self.trust_text)
            context.check_hostname = self.check_hostname
            if self.certificate_file is not None:
                context.load_cert_chain(self.certificate_file, self.key_file, self.key_password)
            elif self.certificate_text is not None:
                self._load_text(context, self.certificate_text)
        except (OSError, ssl.SSLError) as error:
            raise OptionError(f"The PEM in options '{self.prefix}ssl.…' can't be read: {error}") from None
        return context

    def _load_text(self, context: ssl.SSLContext, text: str) -> None:
        from tempfile import NamedTemporaryFile  # slow to import

        with NamedTemporaryFile(
            "w", suffix=".pem"
        ) as file:  # Python's TLS reads certificates only from files; this one is private
            file.write(text)
            file.flush()
            context.load_cert_chain(file.name, None, self.key_password)


def take_tls(options: GivenOptions) -> TlsSettings:
    """Removes the options `ssl.*` and returns them checked. Raises OptionError."""
    trust_file, trust_text = _take_store(options, "truststore", "certificates")
    certificate_file, certificate_text = _take_store(options, "keystore", "certificate.chain", "key")
    name = "ssl.endpoint.identification.algorithm"
    algorithm = options.text(name, "https").strip().lower()
    if algorithm not in ("https", "", "none"):
        raise OptionError(f"Option {options.named(name)} must be https or empty, not '{algorithm}'")
    return TlsSettings(
        trust_file=trust_file,
        certificate_file=certificate_file,
        key_file=options.take("ssl.key.location"),
        key_password=options.take("ssl.key.password"),
        check_hostname=algorithm == "https",
        trust_text=trust_text,
        certificate_text=certificate_text,
        prefix=options.prefix,
    )


def _take_store(options: GivenOptions, store: str, *parts: str) -> tuple[str | None, str | None]:
    """Returns the PEM file of a store, or its PEM text from the options `parts` (KIP-651); None for the missing one."""
    kind, place = options.text(f"ssl.{store}.type", "JKS").strip().upper(), f"ssl.{store}.location"
    file = options.take(place)
    names = [f"ssl.{store}.{part}" for part in parts]
    given = {name: options.text(name, "") for name in names if name in options}
    if (file is not None or given) and kind != "PEM":
        raise OptionError(f"Option {options.named(f'ssl.{store}.type')} must be PEM: other types need Java")
    if file is not None and given:
        both = f"{options.named(place)} and {options.named(names[0])}"
        raise OptionError(f"Options {both} contradict each other: give one of them")
    for name in names if given else ():
        if name not in given:
            raise OptionError(
                f"Option {options.named(name)} must be given together with the other options of the {store}"
            )
    return file, "".join(_pem(options.named(name), text) for name, text in given.items()) or None


def _pem(name: str, text: str) -> str:
    """Returns PEM text with the line breaks that OpenSSL needs; options may have blanks instead. The error does not
    show the text, which may be a key.
    """
    blocks = _PEM.findall(text)
    if not blocks:
        raise OptionError(f"Option {name} is not valid PEM")
    return "".join(
        "\n".join([f"-----BEGIN {kind}-----", *wrap("".join(body.split()), _PEM_COLUMNS), f"-----END {kind}-----", ""])
        for kind, body in blocks
    )
