"""Rows as columns: each statement takes one array a column, however many rows there are.

PostgreSQL's text cannot hold the character NUL, which texts of models and tools may. It is written as an
escape, and so is the escape character itself: both hardly ever occur, and are looked for column by column.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, get_type_hints

from msgspec import Struct

_ESCAPE: Final = "\x1a"
_TYPES: Final = {
    str: "text",
    int: "bigint",
    float: "float8",
    bytes: "bytea",
    str | None: "text",
    float | None: "float8",
}


def types_of(row: type[Struct]) -> tuple[str, ...]:
    """Return the database's types of a row's fields."""
    return tuple(_TYPES[kind] for kind in get_type_hints(row).values())


def columns(types: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> list[list[Any]]:
    """Return the rows' values column by column, ready to be sent."""
    return [_sent(kind, list(values)) for kind, values in zip(types, zip(*rows, strict=True), strict=True)]


def texts(values: Iterable[str]) -> list[str]:
    """Return one column of texts, ready to be sent."""
    return _sent("text", list(values))


def text(value: str) -> str:
    """Return one text, ready to be sent."""
    return escaped(value) if "\x00" in value or _ESCAPE in value else value


def row(kind: type[Struct], found: Sequence[Any]) -> Any:
    """Return the row that the database's values are."""
    return kind(*map(received, found))


def received(value: Any) -> Any:
    """Return a value as it was before it was sent."""
    if isinstance(value, str) and _ESCAPE in value:
        return value.replace(f"{_ESCAPE}0", "\x00").replace(f"{_ESCAPE}1", _ESCAPE)
    return value


def escaped(value: str) -> str:
    """Return the text in the form in which it is stored."""
    return value.replace(_ESCAPE, f"{_ESCAPE}1").replace("\x00", f"{_ESCAPE}0")


def _sent(kind: str, values: list[Any]) -> list[Any]:
    if kind == "text":
        if set(map(type, values)) != {str}:  # enumerations, and columns that may be empty
            values = [None if value is None else str(value) for value in values]
        together = "".join(value for value in values if value)
        if "\x00" in together or _ESCAPE in together:
            return [value and escaped(value) for value in values]
    elif kind == "float8":
        return [None if value is None else float(value) for value in values]
    return values
