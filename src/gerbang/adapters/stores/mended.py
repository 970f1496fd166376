"""Values of SQLite as what their column is for: the file keeps a text in a column of bytes when told to.

Nothing of ours writes such a value. Whoever changed the file by hand did, and `audit verify` has to be able
to say where.
"""

from typing import Any, Final

from msgspec.structs import fields

_MIXED: Final = (str, bytes)
_KNOWN: Final[dict[tuple[type[Any], tuple[type[Any], ...]], tuple[int, ...]]] = {}
"""By the kind of row and the types of its values, of which there are few."""


def mended(kind: type[Any], values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the values of a row with texts and bytes where the record has them."""
    given = kind, tuple(map(type, values))
    wrong = _KNOWN.get(given)
    if wrong is None:
        wrong = _KNOWN[given] = _wrong(*given)
    if not wrong:
        return values
    row = list(values)
    for at in wrong:
        value = row[at]
        row[at] = value.encode("utf-8", "replace") if type(value) is str else value.decode("utf-8", "replace")
    return tuple(row)


def _wrong(kind: type[Any], given: tuple[type[Any], ...]) -> tuple[int, ...]:
    """Return the places at which a text stands for bytes, or bytes for a text."""
    wanted = [field.type for field in fields(kind)]
    return tuple(
        at
        for at, (want, got) in enumerate(zip(wanted, given, strict=False))
        if got in _MIXED and ((want is bytes and got is str) or (want is not bytes and got is bytes))
    )
