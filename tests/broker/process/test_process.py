"""Settings of the process when it runs only a broker."""

import subprocess
import sys
from pathlib import Path

_RUN = """
import sys
from pathlib import Path
from pybroker.broker.process.broker_process import run
from pybroker.broker.start_error import StartError
from pybroker.config.config import Config
from pybroker.config.load import load_config
try:
    run(load_config("", {"log.dirs": sys.argv[1], "listeners": "PLAINTEXT://127.0.0.1:0"}))
except StartError:
    print(sys.getswitchinterval())
"""


def test_workers_leave_the_interpreter_to_the_loop_after_half_a_millisecond(tmp_path: Path) -> None:
    """With Python's default of 5 ms, a computing thread lets other clients run only about once a second."""
    no_directory = tmp_path / "file"
    no_directory.touch()
    done = subprocess.run([sys.executable, "-c", _RUN, str(no_directory)], capture_output=True, text=True, check=True)
    assert float(done.stdout) <= 0.0005
