"""JSON that a person typed or piped: read strictly, with errors that say where."""

import json
from typing import Any

from gerbang.cli.texts import say
from gerbang.errors import UsageError
from gerbang.limits import MAX_ARGUMENT_BYTES


def read_object(text: str) -> dict[str, Any]:
    """Return the JSON object in `text`; nothing but white space means an empty one.

    Raises UsageError for anything else, for a name that stands twice in an object, for NaN and
    infinities, and for text of more than MAX_ARGUMENT_BYTES bytes.
    """
    if len(text.encode("utf-8", "surrogatepass")) > MAX_ARGUMENT_BYTES:
        raise UsageError(say("json_large", limit=MAX_ARGUMENT_BYTES))
    if not text.strip():
        return {}
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise UsageError(
            say(
                "json_wrong",
                reason=error.msg,
                line=error.lineno,
                column=error.colno,
                example=say("json_example"),
            )
        ) from None
    except RecursionError:
        raise UsageError(say("json_deep")) from None
    except ValueError as error:  # the interpreter's bound on the digits of an integer
        raise UsageError(say("json_unreadable", reason=error, example=say("json_example"))) from None
    if not isinstance(value, dict):
        raise UsageError(say("json_other", kind=_kind(value), example=say("json_example")))
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise UsageError(say("json_twice", name=name))
        found[name] = value
    return found


def _refuse_constant(name: str) -> Any:
    raise UsageError(say("json_constant", name=name))


def _kind(value: Any) -> str:
    names = {bool: "bool", int: "number", float: "number", str: "text", list: "list"}
    return say(f"kind_{names.get(type(value), 'null')}")
