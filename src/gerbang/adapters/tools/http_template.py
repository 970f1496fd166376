"""Texts with `{argument}` and `${secret:NAME}` in them, taken apart when a definition is loaded. Pure."""

import difflib
import json
import re
from collections.abc import Collection, Iterator
from typing import Any, Final, Literal

from msgspec import Struct

from gerbang.values.secret import NAME_RULE, is_secret_name

_SLOT: Final = re.compile(r"\$\{([^{}]{0,200})\}|\{([^{}]{1,200})\}")
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_SECRET: Final = "secret:"  # noqa: S105 (a word of the notation)


class Slot(Struct, frozen=True):
    """A place for a value: of an argument, or of a secret."""

    kind: Literal["argument", "secret"]
    name: str


Pieces = tuple[str | Slot, ...]


class BadTemplate(ValueError):
    """A placeholder that names nothing, or stands where none may. `str()` says what to write instead."""


def pieces(text: str, known: Collection[str], *, secrets: bool) -> Pieces:
    """Take a text apart. `known` are the parameters, `secrets` tells whether secrets may stand in it.

    Braces that hold neither a parameter nor a word are text. Raises BadTemplate.
    """
    found: list[str | Slot] = []
    start = 0
    for match in _SLOT.finditer(text):
        slot = _slot(match, known, secrets)
        if slot is not None:
            if match.start() > start:
                found.append(text[start : match.start()])
            found.append(slot)
            start = match.end()
    if start < len(text):
        found.append(text[start:])
    return tuple(found)


def slots(parts: Pieces, kind: str) -> Iterator[str]:
    """Yield the names of a kind of slot, in order."""
    return (part.name for part in parts if isinstance(part, Slot) and part.kind == kind)


def nearest(name: str, known: Collection[str]) -> str:
    """Return `; did you mean X?`, or what there is, for the end of an error."""
    near = difflib.get_close_matches(name[:80], [str(item) for item in known], n=1, cutoff=0.6)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; known: {', '.join(sorted(map(str, known))[:20])}" if known else "; there are none"


json_text: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""Writes a JSON value, without spaces."""


def value_text(value: Any) -> str:
    """Return a value as it stands in a URL or header: text without quotes, anything else as its JSON."""
    return value if isinstance(value, str) else json_text(value)


def _slot(match: re.Match[str], known: Collection[str], secrets: bool) -> Slot | None:
    marked, name = match.group(1), match.group(2)
    if marked is None:
        if name in known:
            return Slot("argument", name)
        if _WORD.fullmatch(name):
            raise BadTemplate(f"{{{name}}} is not one of the parameters{nearest(name, known)}")
        return None
    if not marked.startswith(_SECRET):
        raise BadTemplate(f"{match.group()[:80]!r} is no placeholder; write {{ARGUMENT}} or ${{secret:NAME}}")
    name = marked.removeprefix(_SECRET)
    if not secrets:
        raise BadTemplate("secrets may stand in the values of headers only")
    if not is_secret_name(name):
        raise BadTemplate(f"{name[:80]!r} cannot name a secret: {NAME_RULE}")
    return Slot("secret", name)
