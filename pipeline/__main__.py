"""Entry point of `pybroker-pipeline`, as a console script and as `python -m pybroker.pipeline`."""

from .jobs.command import main

__all__ = ["main"]

if __name__ == "__main__":
    raise SystemExit(main())
