"""Columns of a sink's rows, without a Spark session."""

__all__ = ["Columns"]


class Column:
    """The part of a field of a Spark schema that the sink reads."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.dataType = self

    def simpleString(self) -> str:  # noqa: N802 (Spark's name)
        return "string"


class Columns:
    """The part of a Spark schema that the sink reads."""

    def __init__(self, *names: str) -> None:
        self.fields = [Column(name) for name in names]
