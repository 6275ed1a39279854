"""Tests that clusters with TLS keep all invariants, and that mistakes in the TLS layer are noticed."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest
from pybroker.broker.security.tls.stream import TlsStream
from pybroker.broker.security.tls.transport import TlsTransport
from pybroker.broker.security.tls.writer import EncryptingWriter
from simulation.encryption.encrypted_run import encrypted_plan, run_encrypted
from simulation.machines.transport import VirtualTransport
from simulation.runs.hash_seeds import outputs_under_two_hash_seeds
from simulation.runs.shortening import useful_lines
from simulation.runs.simulation_run import Result

SEEDS = range(1, 7)


def passed(result: Result) -> Result:
    assert result.violation is None, "\n".join((result.violation or "", *useful_lines(result)))
    return result


@pytest.mark.parametrize("seeds", [SEEDS, pytest.param(range(7, 101), marks=pytest.mark.long)], ids=["few", "many"])
def test_clusters_with_tls_keep_all_invariants(seeds: Iterable[int]) -> None:
    counts: Counter[str] = Counter()
    for seed in seeds:
        counts += passed(run_encrypted(seed)).counts
    assert counts["tls: ends of connections"] > 500
    assert counts["tls: ends of streams"] > 10
    assert counts["tls: bytes received"] > 1_000_000


def test_seeds_have_both_versions_of_tls() -> None:
    assert {encrypted_plan(seed).shape.tls_versions for seed in SEEDS} == {"TLSv1.2", "TLSv1.3"}


_RECORD_TYPES = range(20, 24)


def test_only_records_of_tls_reach_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    write, written = VirtualTransport.write, 0

    def checked(transport: VirtualTransport, data: Any) -> None:
        nonlocal written
        written += 1
        assert data[0] in _RECORD_TYPES
        assert data[1] == 3
        write(transport, data)

    monkeypatch.setattr(VirtualTransport, "write", checked)
    passed(run_encrypted(SEEDS[0]))
    assert written > 1_000


_DIGEST = """
from simulation.encryption.encrypted_run import run_encrypted
result = run_encrypted({seed})
print(result.digest, result.virtual_s, result.counts["turns"], result.violation)
"""


@pytest.mark.parametrize("seed", SEEDS[:2])
def test_run_of_a_seed_does_not_depend_on_the_random_numbers_of_openssl(seed: int) -> None:
    runs = outputs_under_two_hash_seeds(_DIGEST.format(seed=seed))
    assert runs[0] == runs[1]
    assert runs[0]


# --- mistakes


def _patched(owner: Any, name: str, replacement: Any) -> AbstractContextManager[Any]:
    return patch.object(owner, name, replacement)


def _written_later(transport: TlsTransport, parts: Iterable[bytes]) -> None:
    """Not a mistake: what is written in one iteration of the loop is encrypted together in the next one."""
    if not transport._is_closing:
        transport._writer.add(parts)
        transport._set_turn()


_close = TlsStream.close


def _closed_without_the_rest(stream: TlsStream) -> None:
    stream._writer.clear()
    _close(stream)


@contextmanager
def _last_bytes_are_lost() -> Iterator[None]:
    with ExitStack() as stack:
        stack.enter_context(patch.object(TlsTransport, "writelines", _written_later))
        stack.enter_context(patch.object(TlsStream, "close", _closed_without_the_rest))
        yield


def _sent_or_lost(writer: EncryptingWriter) -> bool:
    """Drop what the socket does not take."""
    if writer.is_full:
        writer.clear()
    return _send(writer)


_send = EncryptingWriter.send

MISTAKES: dict[str, tuple[Callable[[], AbstractContextManager[Any]], str]] = {
    "bytes written last before a close are lost": (_last_bytes_are_lost, "bytes before its end are lost"),
    "bytes that a full socket does not take are lost": (
        partial(_patched, EncryptingWriter, "send", _sent_or_lost),
        "was written",
    ),
}

MORE: dict[str, dict[str, Any]] = {
    "bytes written last before a close are lost": {
        "broker_count": 3,
        "faults": ("broker is stopped",),
        "fault_count": 6,
        "change_count": 0,
    }
}
"""Parameters of these mistakes' runs, in place of those chosen by the seed."""


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake_is_noticed(mistake: str) -> None:
    """A run with the mistake fails that passes without it."""
    planted, words = MISTAKES[mistake]
    for seed in range(1, 21):
        plan = replace(encrypted_plan(seed), **MORE.get(mistake, {}))
        with planted():
            violation = run_encrypted(seed, plan).violation
        if words in (violation or ""):
            passed(run_encrypted(seed, plan))
            return
    pytest.fail(f"not noticed: {mistake}")


def test_layer_that_only_encrypts_later_passes() -> None:
    """The mistake that loses bytes at a close is found because of the close, not because of the delay."""
    with patch.object(TlsTransport, "writelines", _written_later):
        for seed in SEEDS[:3]:
            passed(run_encrypted(seed))
