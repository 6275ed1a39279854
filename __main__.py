"""``python -m pybroker`` is the console script ``pybroker``."""

from pybroker.broker.command_line import main

if __name__ == "__main__":
    raise SystemExit(main())
