"""``pybroker certificates`` makes an authority and a certificate for each host."""

import ssl
import stat
import sys
from pathlib import Path

import pytest
from cryptography import x509
from pybroker.broker.commands.command_line import main
from support.processes.certificates import hosts_of


def run(*arguments: object) -> int:
    return main(["certificates", *map(str, arguments)])


def files_in(directory: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in directory.iterdir()}


def test_each_host_gets_a_certificate_of_one_authority(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "new" / "secrets"
    assert run(place, "broker-1", "10.0.0.7", "--days", 3) == 0
    assert {file.name for file in place.iterdir()} == {"ca.pem", "broker-1.pem", "10.0.0.7.pem"}
    local = {"localhost", "127.0.0.1", "::1"}
    authority = x509.load_pem_x509_certificate((place / "ca.pem").read_bytes())
    for host in ("broker-1", "10.0.0.7"):
        file = place / f"{host}.pem"
        assert hosts_of(file) == {host, *local}
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(file)
        certificate = x509.load_pem_x509_certificate(file.read_bytes())
        certificate.verify_directly_issued_by(authority)
        assert (certificate.not_valid_after_utc - certificate.not_valid_before_utc).days == 3
    assert b"PRIVATE KEY" not in (place / "ca.pem").read_bytes()
    assert capsys.readouterr().out.endswith(f"{place}/ca.pem: what clients must trust\n")


def test_existing_certificates_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "broker-1", "broker-2") == 0
    before = files_in(tmp_path)
    assert run(tmp_path, "broker-2", "broker-1") == 0
    assert capsys.readouterr().out.endswith(f"{tmp_path}: all files exist, nothing was done\n")
    assert run(tmp_path, "broker-1", "broker-3") == 1
    assert "has ca.pem, but no broker-3.pem, and the key of that authority was not kept" in capsys.readouterr().err
    assert files_in(tmp_path) == before


def test_certificates_without_their_authority_are_made_anew(tmp_path: Path) -> None:
    """A run that was killed leaves no authority behind."""
    run(tmp_path, "broker-1")
    (tmp_path / "ca.pem").unlink()
    before = files_in(tmp_path)
    assert run(tmp_path, "broker-1") == 0
    assert files_in(tmp_path)["broker-1.pem"] != before["broker-1.pem"]
    assert (tmp_path / "ca.pem").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["secrets"], "HOST"),
        (["secrets", ""], "'': is not a host that a file can be named after"),
        (["secrets", "a/b"], "'a/b': is not a host that a file can be named after"),
        (["secrets", "ca"], "'ca': is not a host that a file can be named after"),
        (["secrets", "b" * 65], "is not a host that a file can be named after"),
        (["secrets", "brüder"], "'brüder': cannot be in a certificate"),
        (["secrets", "b", "--days", "0"], "--days 0: must be from 1 to 36500"),
    ],
)
def test_bad_arguments_make_no_certificates(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(*arguments) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert list(tmp_path.rglob("*.pem")) == []


def test_directory_that_cannot_be_made_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert run(tmp_path / "file" / "secrets", "broker-1") == 1
    assert f"{tmp_path}/file/secrets: cannot be written: " in capsys.readouterr().err


def test_command_names_the_missing_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    assert run(tmp_path, "broker-1") == 2
    assert "pybroker certificates needs the library cryptography: pip install" in capsys.readouterr().err
