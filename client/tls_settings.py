"""TLS settings of a client: the options `ssl.*`, with Kafka's names."""

from __future__ import annotations

import re
from dataclasses import field, replace
from textwrap import wrap
from typing import TYPE_CHECKING

from ..base.frozen import frozen
from .given_options import GivenOptions, OptionError
from .store_file import JavaStores, StoreFile

if TYPE_CHECKING:
    import ssl

_PEM = re.compile(r"-----BEGIN ([A-Z ]+)-----(.+?)-----END \1-----", re.DOTALL)
_PEM_COLUMNS = 64
_KINDS = ("PEM", "JKS", "PKCS12")


@frozen
class TlsSettings:
    """PEM files, PEM text given in options, or Java's stores. The client's certificate file also holds its key unless
    `key_file` is set. Without a truststore, the system's certificates are trusted. `prefix` stands before the names of
    options.
    """

    trust_file: str | None
    certificate_file: str | None
    key_file: str | None
    key_password: str | None = field(repr=False)
    check_hostname: bool
    trust_text: str | None = None
    certificate_text: str | None = field(default=None, repr=False)
    prefix: str = field(default="", compare=False)
    stores: JavaStores = field(default_factory=JavaStores)

    def with_stores_read(self) -> TlsSettings:
        """Returns the settings with PEM text in place of Java's stores. Raises OptionError."""
        settings, stores = replace(self, stores=JavaStores()), self.stores
        if stores.trust is not None:
            settings = replace(settings, trust_text=stores.trust.certificates())
        if stores.keys is not None:
            pair = stores.keys.key_pair(self.key_password)
            settings = replace(settings, key_password=None, certificate_text=pair)
        return settings

    def context(self) -> ssl.SSLContext:
        """Returns the TLS context. Raises OptionError for unreadable files."""
        import ssl  # slow to import

        read = self.with_stores_read()
        try:
            context = ssl.create_default_context(cafile=read.trust_file, cadata=read.trust_text)
            context.check_hostname = read.check_hostname
            if read.certificate_file is not None:
                context.load_cert_chain(read.certificate_file, read.key_file, read.key_password)
            elif read.certificate_text is not None:
                _load_text(context, read.certificate_text, read.key_password)
        except (OSError, ssl.SSLError) as error:
            raise OptionError(f"The PEM in options '{self.prefix}ssl.…' can't be read: {error}") from None
        return context


def take_tls(options: GivenOptions) -> TlsSettings:
    """Removes the options `ssl.*` and returns them checked. Raises OptionError."""
    trust_file, trust_text, trust_store = _take_store(options, "truststore", "certificates")
    certificate_file, certificate_text, key_store = _take_store(options, "keystore", "certificate.chain", "key")
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
        stores=JavaStores(trust_store, key_store),
    )


def _load_text(context: ssl.SSLContext, text: str, key_password: str | None) -> None:
    from tempfile import NamedTemporaryFile  # slow to import

    # Python's TLS reads certificates only from files; this one is private.
    with NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(text)
        file.flush()
        context.load_cert_chain(file.name, None, key_password)


_Store = tuple[str | None, str | None, StoreFile | None]


def _take_store(options: GivenOptions, store: str, *parts: str) -> _Store:
    """Returns the PEM file of a store, its PEM text from the options `parts` (KIP-651), or Java's store."""
    kind, place = options.text(f"ssl.{store}.type", "JKS").strip().upper(), f"ssl.{store}.location"
    if kind not in _KINDS:
        raise OptionError(f"Option {options.named(f'ssl.{store}.type')} must be {', '.join(_KINDS)}, not '{kind}'")
    file, password = options.take(place), options.take(f"ssl.{store}.password")
    names = [f"ssl.{store}.{part}" for part in parts]
    given = {name: options.text(name, "") for name in names if name in options}
    if given and kind != "PEM":
        raise OptionError(f"Option {options.named(f'ssl.{store}.type')} must be PEM with {options.named(names[0])}")
    if file is not None and given:
        both = f"{options.named(place)} and {options.named(names[0])}"
        raise OptionError(f"Options {both} contradict each other: give one of them")
    for name in names if given else ():
        if name not in given:
            raise OptionError(
                f"Option {options.named(name)} must be given together with the other options of the {store}"
            )
    if file is not None and kind != "PEM":
        return None, None, StoreFile(options.named(place), file, kind, password)
    return file, "".join(_pem(options.named(name), text) for name, text in given.items()) or None, None


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
