"""The error by which a handler refuses a request."""

__all__ = ["HttpError"]


class HttpError(Exception):
    """``status``: the status of the response. ``text``: one plain line for the user."""

    def __init__(self, status: int, text: str, headers: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.headers = headers
