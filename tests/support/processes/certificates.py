"""Certificates for tests, made by openssl: an authority, and files in PEM with a key and what the authority signed."""

import shutil
import subprocess
from pathlib import Path

import pytest

__all__ = ["Authority"]


class Authority:
    """``certificate`` is what clients and servers trust."""

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
        """A file with a private key and a certificate for it; names as openssl takes them: ``IP:127.0.0.1``."""
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
