"""Turns a board into the JSON that Grafana reads."""

import json
from typing import Any

from monitoring_files.boards import Board, Panel
from monitoring_files.expressions import checked, series_in

__all__ = ["board_json"]

_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_WIDTH = 24
_NUMBER_SIZE, _CHART_SIZE = (3, 4), (8, 8)


def board_json(board: Board) -> str:
    """The text of the board's file. Raises UnknownNameError for a series that the table lacks."""
    panels: list[dict[str, Any]] = []
    y = 0
    for row in board.rows:
        panels.append({"type": "row", "title": row.title, "collapsed": False, "gridPos": _position(0, y, _WIDTH, 1)})
        x, y, height = 0, y + 1, 0
        for panel in row.panels:
            width, height = _NUMBER_SIZE if panel.is_number else _CHART_SIZE
            if x + width > _WIDTH:
                x, y = 0, y + height
            panels.append(_panel(panel) | {"gridPos": _position(x, y, width, height)})
            x += width
        y += height
    text = {
        "uid": board.uid,
        "title": board.title,
        "tags": ["kafka", "pybroker"],
        "schemaVersion": 36,
        "editable": True,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [_choice_of_source(), *(_choice(*each) for each in board.variables.items())]},
        "panels": [panel | {"id": number} for number, panel in enumerate(panels, 1)],
    }
    return json.dumps(text, indent=1) + "\n"


def _panel(panel: Panel) -> dict[str, Any]:
    queries = [(legend, checked(query)) for legend, query in panel.queries.items()]
    texts = dict.fromkeys(series.help for _, query in queries for series in series_in(query))
    return {
        "type": "stat" if panel.is_number else "timeseries",
        "title": panel.title,
        "description": "\n".join(texts),
        "datasource": _SOURCE,
        "targets": [
            {"refId": chr(ord("A") + number), "expr": query, "legendFormat": legend, "datasource": _SOURCE}
            for number, (legend, query) in enumerate(queries)
        ],
        "fieldConfig": {"defaults": {"unit": panel.unit.value, "min": 0, **_colours(panel)}, "overrides": []},
        "options": {} if panel.is_number else {"legend": {"displayMode": "list", "placement": "bottom"}},
    }


def _colours(panel: Panel) -> dict[str, Any]:
    if panel.red_from is not None:
        steps = [{"color": "green", "value": None}, {"color": "red", "value": panel.red_from}]
    elif panel.red_below is not None:
        steps = [{"color": "red", "value": None}, {"color": "green", "value": panel.red_below}]
    else:
        return {}
    return {"thresholds": {"mode": "absolute", "steps": steps}}


def _position(x: int, y: int, width: int, height: int) -> dict[str, int]:
    return {"x": x, "y": y, "w": width, "h": height}


def _choice_of_source() -> dict[str, Any]:
    return {"name": "datasource", "label": "Source", "type": "datasource", "query": "prometheus"}


def _choice(label: str, series: str) -> dict[str, Any]:
    return {
        "name": label,
        "type": "query",
        "datasource": _SOURCE,
        "query": f"label_values({checked(series)}, {label})",
        "refresh": 2,
        "includeAll": True,
        "multi": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }
