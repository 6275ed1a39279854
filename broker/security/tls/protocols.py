"""``ssl.enabled.protocols`` with ``ssl.cipher.suites``: the versions of TLS that a context offers."""

import ssl

from ....config.config_error import ConfigError
from .cipher_suites import ChosenSuites

__all__ = ["choose_versions"]

_NAME = "ssl.enabled.protocols"
_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
# Java has these, but its file java.security disables them; OpenSSL's usual level of security does so too.
_DISABLED = frozenset({"SSLv2Hello", "SSLv3", "TLSv1", "TLSv1.1"})


def choose_versions(names: tuple[str, ...], suites: ChosenSuites | None) -> tuple[ssl.TLSVersion, ssl.TLSVersion]:
    """The lowest and the highest version that are enabled and have a suite.

    Raises:
        ConfigError: a name is unknown, or no version is left.
    """
    unknown = [name for name in names if name not in _VERSIONS and name not in _DISABLED]
    if unknown:
        raise ConfigError(f"{_NAME}: {', '.join(unknown)}: unknown; TLSv1.2 and TLSv1.3 can be enabled")
    enabled = {name for name in names or _VERSIONS if name in _VERSIONS}
    if not enabled:
        raise ConfigError(f"{_NAME}={','.join(names)}: only TLSv1.2 and TLSv1.3 can be used")
    if suites is not None:
        with_suites = {name for name, has_one in _has_suite(suites).items() if has_one}
        if not enabled & with_suites:
            raise ConfigError(f"{_NAME}={','.join(names)}: ssl.cipher.suites has no suite of these versions")
        enabled &= with_suites
    versions = sorted(_VERSIONS[name] for name in enabled)
    return versions[0], versions[-1]


def _has_suite(suites: ChosenSuites) -> dict[str, bool]:
    return {"TLSv1.2": bool(suites.for_tls_1_2), "TLSv1.3": suites.has_tls_1_3}
