"""Pairs of surrogates that a server split over two deltas, put together again."""

from typing import Final

_HIGH: Final = ("\ud800", "\udbff")


class SurrogateJoiner:
    """Feed pieces of text; a high surrogate at the end of one waits for the next piece."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """Return the text that is decided so far; what pairs with nothing becomes U+FFFD."""
        text = self._held + text
        self._held = ""
        if text and _HIGH[0] <= text[-1] <= _HIGH[1]:
            text, self._held = text[:-1], text[-1]
        return whole(text)

    def finish(self) -> str:
        """Return what was still held."""
        held, self._held = self._held, ""
        return whole(held)


def whole(text: str) -> str:
    """Return `text` with its surrogate pairs joined and lone ones as U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
