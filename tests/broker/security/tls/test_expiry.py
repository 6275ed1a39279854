"""Tests of the end of certificates: read from DER as `cryptography` wrote it, warned of, and shown as a metric."""

import asyncio
import datetime
import shutil
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.base.key_stores.certificates import end_of_validity
from pybroker.base.key_stores.der import DerError
from pybroker.broker.encryption import Encryption
from pybroker.broker.library.throwaway_certificates import ThrowawayCertificates
from pybroker.broker.network import encrypted_listener
from pybroker.broker.protection import Protection
from pybroker.broker.security.tls.expiry import CertificateEnd, first_end
from pybroker.config.config import Config
from pybroker.config.load import unchecked_config
from support.in_process.network_peer import until
from support.in_process.tls_ends import STORES
from support.in_process.tls_settings import ssl_listener

x509 = pytest.importorskip("cryptography.x509")
ec = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ec")
hashes = pytest.importorskip("cryptography.hazmat.primitives.hashes")
serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")

KEY = ec.generate_private_key(ec.SECP256R1())
FIRST = datetime.datetime(1950, 1, 1)
LAST = datetime.datetime(9999, 12, 31, 23, 59, 59)
DAY_S = 86_400


def certificate(end: datetime.datetime, name: str = "a") -> bytes:
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    builder = x509.CertificateBuilder(subject, subject, KEY.public_key(), 1).not_valid_before(FIRST)
    signed = builder.not_valid_after(end).sign(KEY, hashes.SHA256())
    encoded: bytes = signed.public_bytes(serialization.Encoding.DER)
    return encoded


@given(st.datetimes(FIRST, LAST).map(lambda time: time.replace(microsecond=0)))
def test_end_of_validity_is_the_one_that_was_written(end: datetime.datetime) -> None:
    assert end_of_validity(certificate(end)) == int(end.replace(tzinfo=datetime.UTC).timestamp())


@given(st.integers(0, 300), st.integers(0, 255))
def test_end_of_a_changed_certificate_is_read_or_refused(position: int, byte: int) -> None:
    encoded = bytearray(certificate(datetime.datetime(2030, 1, 31)))
    encoded[position % len(encoded)] = byte
    with suppress(DerError):
        assert isinstance(end_of_validity(bytes(encoded)), int)


def test_first_end_of_a_chain_is_that_of_any_certificate_in_it() -> None:
    chain = [certificate(datetime.datetime(year, 1, 1), f"n{year}") for year in (2032, 2031, 2033)]
    end = first_end([*chain, b"no certificate"])
    assert end is not None
    assert (end.subject, end.date) == ("CN=n2031", "2031-01-01")
    assert first_end([b"no certificate"]) is None


@pytest.mark.parametrize(
    ("left_s", "is_soon", "is_over"),
    [(30 * DAY_S + 1, False, False), (30 * DAY_S - 1, True, False), (1, True, False), (-1, True, True)],
)
def test_end_within_30_days_is_soon(left_s: int, is_soon: bool, is_over: bool) -> None:
    end = CertificateEnd(2_000_000_000, "CN=a")
    now_s = end.at_s - left_s
    assert (end.is_soon(now_s), end.is_over(now_s)) == (is_soon, is_over)


class Clock:
    """``days`` after the start of 2126, in whose November the certificate of the test server ends."""

    days = 0

    def __call__(self) -> int:
        start = datetime.datetime(2126, 1, 1, tzinfo=datetime.UTC)
        return int((start + datetime.timedelta(days=self.days)).timestamp()) * 1000


def config_of(store: Path) -> Config:
    return unchecked_config("", {**ssl_listener(), "ssl.keystore.location": str(store)})


async def one_turn(encryption: Encryption) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(0):
            await encryption.run()


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (200, []),
        (280, ["listener SSL: the certificate of 'CN=server,O=Test' ends soon, on 2126-11-02"]),
        (310, ["listener SSL: the certificate of 'CN=server,O=Test' has ended on 2126-11-02"]),
    ],
)
async def test_operator_is_warned_of_a_certificate_that_ends_soon_at_the_start_and_when_it_is_read_again(
    days: int, expected: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    clock.days = days
    shutil.copy(STORES / "server.pem", tmp_path / "keys.pem")
    config = config_of(tmp_path / "keys.pem")
    encryption = Encryption(config, clock)
    await one_turn(encryption)
    encryption.reload(config)
    assert caplog.messages == expected
    shutil.copy(STORES / "server.pem", tmp_path / "new.pem")
    (tmp_path / "new.pem").replace(tmp_path / "keys.pem")
    encryption.reload(config)
    assert [record.getMessage() for record in caplog.records if record.levelname != "INFO"] == 2 * expected


async def test_operator_is_warned_each_day(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(encrypted_listener, "_DAY_S", 0)
    clock = Clock()
    clock.days = 280
    running = asyncio.create_task(Encryption(config_of(STORES / "server.pem"), clock).run())
    await until(lambda: len(caplog.messages) >= 3)
    running.cancel()
    assert set(caplog.messages) == {"listener SSL: the certificate of 'CN=server,O=Test' ends soon, on 2126-11-02"}


async def test_throwaway_certificates_are_not_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    await one_turn(Encryption(config_of(ThrowawayCertificates(tmp_path).issue("server"))))
    assert caplog.messages == []


async def test_end_of_the_certificate_of_each_listener_is_a_metric() -> None:
    protection = Protection(config_of(STORES / "server.pem"))
    assert protection.certificate_ends() == {"SSL": 4949312450}
    assert Protection(unchecked_config("", {})).certificate_ends() == {}
