"""What a reader hands out. Every event is frozen; joined over a whole answer they do not depend on how it
was cut.
"""

from typing import Any

from msgspec import Struct


class Content(Struct, frozen=True, gc=False):
    """Text for the user, unchanged."""

    text: str


class Reasoning(Struct, frozen=True, gc=False):
    """Text of the model's thinking: not for the user, and no call in it counts."""

    text: str


class CallOpened(Struct, frozen=True, gc=False):
    """A call has begun and its name is known. `index` counts the opened calls of this answer from 0."""

    index: int
    name: str


class ArgumentsDelta(Struct, frozen=True, gc=False):
    """A further piece of the call's JSON text; the pieces of one call joined are its `arguments_json`."""

    index: int
    fragment: str


class CallClosed(Struct, frozen=True):
    """A complete call. Only this event may lead to an execution.

    `arguments` holds the values, `arguments_json` their JSON text; `repaired` tells that the model's text
    was not valid as it stood and had exactly one reading.
    """

    index: int
    name: str
    arguments: dict[str, Any]
    arguments_json: str
    repaired: bool = False


class ParseFault(Struct, frozen=True, gc=False):
    """Something that looked like a call and is none.

    `index` is the opened call that died with it, or None; `code` is one of `gerbang.parse.faults.CODES`;
    `message` tells the model how to repair the call; `raw` is the start of the text, at most 500 characters.
    """

    index: int | None
    code: str
    message: str
    raw: str


Event = Content | Reasoning | CallOpened | ArgumentsDelta | CallClosed | ParseFault
"""All there is."""
