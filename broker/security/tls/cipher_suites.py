"""``ssl.cipher.suites``: Java's names of cipher suites, and what OpenSSL calls them.

The suites of TLS 1.3 are separate: OpenSSL enables all three, and Python before 3.15 cannot choose among them.
"""

from typing import NamedTuple

from ....config.config_error import ConfigError

__all__ = ["CIPHER_SUITES", "SUITES_OF_TLS_1_3", "ChosenSuites", "choose_suites"]

SUITES_OF_TLS_1_3 = ("TLS_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256")

CIPHER_SUITES = {
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384": "ECDHE-ECDSA-AES256-SHA384",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384": "ECDHE-RSA-AES256-SHA384",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256": "ECDHE-ECDSA-AES128-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256": "ECDHE-RSA-AES128-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_RSA_WITH_AES_256_GCM_SHA384": "AES256-GCM-SHA384",
    "TLS_RSA_WITH_AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "TLS_RSA_WITH_AES_256_CBC_SHA256": "AES256-SHA256",
    "TLS_RSA_WITH_AES_128_CBC_SHA256": "AES128-SHA256",
    "TLS_RSA_WITH_AES_256_CBC_SHA": "AES256-SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA": "AES128-SHA",
}
"""Up to TLS 1.2, in the order of Java's preference."""

# Java has these, but a certificate for DSS is not used any more, and Python's servers have no parameters for DHE.
_UNUSED_PREFIXES = ("TLS_DHE_RSA_WITH_", "TLS_DHE_DSS_WITH_", "TLS_EMPTY_RENEGOTIATION_INFO_SCSV")
_NAME = "ssl.cipher.suites"


class ChosenSuites(NamedTuple):
    """``for_tls_1_2``: OpenSSL's names joined by colons; empty if TLS 1.2 has no suite."""

    for_tls_1_2: str
    has_tls_1_3: bool


def choose_suites(names: tuple[str, ...]) -> ChosenSuites | None:
    """The suites with these names of Java; None when no name is given: then the defaults apply.

    Raises:
        ConfigError: a name is unknown, none can be used, or some suites of TLS 1.3 are named and not all.
    """
    if not names:
        return None
    unknown = [name for name in names if name not in CIPHER_SUITES and not _is_known(name)]
    if unknown:
        raise ConfigError(f"{_NAME}: {', '.join(unknown)}: unknown or unsafe; the names are those of Java")
    missing = [name for name in SUITES_OF_TLS_1_3 if name not in names]
    if 0 < len(missing) < len(SUITES_OF_TLS_1_3):
        raise ConfigError(
            f"{_NAME}: {', '.join(missing)} must be named too: Python enables all suites of TLS 1.3 or none"
        )
    chosen = ChosenSuites(":".join(CIPHER_SUITES[name] for name in names if name in CIPHER_SUITES), not missing)
    if not chosen.for_tls_1_2 and not chosen.has_tls_1_3:
        raise ConfigError(f"{_NAME}: {', '.join(names)}: none of these can be used; name suites with ECDHE")
    return chosen


def _is_known(name: str) -> bool:
    return name in SUITES_OF_TLS_1_3 or name.startswith(_UNUSED_PREFIXES)
