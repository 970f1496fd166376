"""One row of the dialect table."""

from dataclasses import dataclass
from typing import Literal

from gerbang.parse.layout import Bare, Entry

Encoding = Literal["J", "X", "X+", "P", "O"]
"""How arguments are written: JSON, raw text in tags, the same with a type mark, Python literals, own
notation.
"""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way in which models write calls.

    `models` are the families that write it (for people), `match` the parts of a model name that point to it
    (lower case), `starts` the marks that begin a call, `reasoning` pairs of marks around thinking, `noise`
    special tokens that are never shown,
    `answers` those of them that begin the answer and so end the thinking. `header`: the mark before the
    header of a further message, and the one that ends a message of thinking. `entries` and `bare` are for
    the readers.
    """

    id: str
    models: tuple[str, ...]
    family: str
    encoding: Encoding
    starts: tuple[str, ...]
    entries: tuple[Entry, ...] = ()
    bare: Bare | None = None
    reasoning: tuple[tuple[str, str], ...] = (("<think>", "</think>"),)
    noise: tuple[str, ...] = ()
    match: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    header: tuple[str, str] | None = None
