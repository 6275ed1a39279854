"""A broker process of a `Cluster`: it ends when the program that started it ends, in whatever way.

Why: a program that is killed cannot stop its brokers, and they would run for ever.
How: the program holds the other end of this process's standard input. When that input ends, the program has ended.
The connections to ZooKeeper go through the program too, so the session guards can do nothing any more and end first.
"""

import os
import signal
import sys
import threading
from pathlib import Path

from .children import Children

__all__ = ["main"]

_FAILED, _BAD_SETTINGS = 1, 2


def main() -> None:
    """Run a broker with the settings of the file that the first argument names."""
    threading.Thread(target=_end_with_parent, name="end-with-parent", daemon=True).start()
    sys.exit(_run(Path(sys.argv[1])))


def _run(file: Path) -> int:
    from ....config.config_error import ConfigError
    from ....config.load import load_config
    from ...process.run_broker import run_broker
    from ...start_error import StartError

    try:
        return run_broker(load_config(file))
    except (ConfigError, StartError) as error:
        sys.stderr.write(f"pybroker: {error}\n")
        return _BAD_SETTINGS if isinstance(error, ConfigError) else _FAILED


def _end_with_parent() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass  # the parent writes nothing
    Children([os.getpid()]).end(within_s=0)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
