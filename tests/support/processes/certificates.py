"""Certificates for tests, made by openssl: an authority, and PEM files with a key and a signed certificate."""

import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography import x509

__all__ = ["Authority", "hosts_of"]


class Authority:
    """A certificate authority. `certificate` is the file that clients and servers trust."""

    def __init__(self, directory: Path, name: str = "authority") -> None:
        if shutil.which("openssl") is None:
            pytest.skip("no openssl")
        self._directory = directory
        self.certificate = directory / f"{name}.pem"
        self._key = directory / f"{name}.key"
        _openssl(
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}",
            "-keyout", str(self._key), "-out", str(self.certificate),
        )  # fmt: skip

    def issue(self, name: str, alternative_names: str) -> Path:
        """Returns a file with a private key and its certificate; names are in openssl's form: `IP:127.0.0.1`."""
        key, request, signed, store = (self._directory / f"{name}.{end}" for end in ("key", "csr", "crt", "pem"))
        extensions = self._directory / f"{name}.ext"
        extensions.write_text(f"subjectAltName={alternative_names}\n")
        _openssl(
            "req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout", str(key), "-out", str(request)
        )
        _openssl(
            "x509", "-req", "-in", str(request), "-CA", str(self.certificate), "-CAkey", str(self._key),
            "-CAcreateserial", "-days", "2", "-extfile", str(extensions), "-out", str(signed),
        )  # fmt: skip
        store.write_text(key.read_text() + signed.read_text())
        return store


def _openssl(*arguments: str) -> None:
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def hosts_of(store: Path) -> set[str]:
    """Returns the alternative names and addresses of the first certificate in a PEM file."""
    certificate = x509.load_pem_x509_certificate(store.read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return {str(name.value) for name in names}
