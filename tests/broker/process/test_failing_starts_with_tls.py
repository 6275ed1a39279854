"""Every start that cannot protect a listener by TLS ends with exit code 1 and one line, without secrets."""

from pathlib import Path

import pytest
from support.in_process.tls_ends import STORES
from support.processes.forked_process import run_forked

CANARY = "canary-secret"


def start(directory: Path, store: str, *settings: str) -> str:
    """The output of a start that fails."""
    every = ["listeners=SSL://127.0.0.1:0", "security.inter.broker.protocol=SSL", f"log.dirs={directory / 'data'}"]
    every += [f"ssl.keystore.location={STORES / store}", "ssl.keystore.password=secret1", *settings]
    overrides = [part for setting in every for part in ("--override", setting)]
    exit_code, output = run_forked(["--log-level", "debug", *overrides], directory)
    assert exit_code == 1, output
    return output


@pytest.mark.parametrize(
    ("store", "settings", "words"),
    [
        ("nowhere.jks", [], "listener SSL: ssl.keystore.location: {}: the file cannot be read: No such file"),
        ("server.jks", [f"ssl.key.password={CANARY}"], "{}: the password of the key is wrong (ssl.key.password)"),
        ("server.jks", [f"ssl.keystore.password={CANARY}"], "{}: the password is wrong, or the file was changed"),
        ("server.jceks", [], "{}: it is a JCEKS store, which is not supported: convert it by keytool"),
        (
            "server.jks",
            ["ssl.key.password=secret2", "ssl.client.auth=required"],
            "listener SSL: ssl.client.auth=required: ssl.truststore.location is not set",
        ),
    ],
)
def test_start_that_cannot_protect_a_listener_says_why(
    store: str, settings: list[str], words: str, tmp_path: Path
) -> None:
    output = start(tmp_path, store, *settings)
    line = output.strip().splitlines()[-1]
    assert line.startswith("pybroker: listener SSL: ")
    assert words.format(STORES / store) in line
    assert "Traceback" not in output
    assert CANARY not in output
