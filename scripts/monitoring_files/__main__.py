"""Writes the files of `monitoring/` that come from the table of series: ``scripts/monitoring``."""

from pathlib import Path

from monitoring_files.alerts import alerts_yaml
from monitoring_files.boards import BOARDS
from monitoring_files.grafana import board_json

DIRECTORY = Path(__file__).parents[2] / "monitoring"


def files() -> dict[str, str]:
    """The text of each file by its path in `monitoring/`."""
    boards = {f"grafana/{name}.json": board_json(board) for name, board in BOARDS.items()}
    return {**boards, "prometheus/alerts.yaml": alerts_yaml()}


def main() -> None:
    for name, text in files().items():
        path = DIRECTORY / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
