"""Plain tables: columns as wide as their longest cell, in the letters the terminal shows."""

import unicodedata
from collections.abc import Iterator, Sequence


def rows(head: Sequence[str], body: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table, its head first, columns two spaces apart. Cells must be single lines."""
    widths = [max(width(line[column]) for line in (head, *body)) for column in range(len(head))]
    for line in (tuple(cell.upper() for cell in head), *body):
        yield "  ".join(
            cell + " " * (size - width(cell)) for cell, size in zip(line, widths, strict=True)
        ).rstrip()


def width(text: str) -> int:
    """Return how many columns a terminal needs for `text`."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )
