"""JSON that a person typed or piped: read strictly, with errors that say where."""

import json
from typing import Any, Final

from gerbang.errors import UsageError
from gerbang.limits import MAX_ARGUMENT_BYTES

_EXAMPLE: Final = """Write a JSON object, such as '{"path": "notes.txt"}'."""


def read_object(text: str) -> dict[str, Any]:
    """Return the JSON object in `text`; nothing but white space means an empty one.

    Raises UsageError for anything else, for a name that stands twice in an object, for NaN and
    infinities, and for text of more than MAX_ARGUMENT_BYTES bytes.
    """
    if len(text.encode("utf-8", "surrogatepass")) > MAX_ARGUMENT_BYTES:
        raise UsageError(f"The arguments are larger than {MAX_ARGUMENT_BYTES} bytes. Send less.")
    if not text.strip():
        return {}
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise UsageError(
            f"The arguments are not valid JSON: {error.msg} (line {error.lineno}, column {error.colno}). "
            f"{_EXAMPLE}"
        ) from None
    except RecursionError:
        raise UsageError("The arguments are nested too deeply. Send a flatter object.") from None
    except ValueError as error:  # the interpreter's bound on the digits of an integer
        raise UsageError(f"The arguments cannot be read: {error}. {_EXAMPLE}") from None
    if not isinstance(value, dict):
        raise UsageError(f"The arguments are {_kind(value)}, not an object. {_EXAMPLE}")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise UsageError(f"The name {name!r} stands twice in one object. Leave one of them out.")
        found[name] = value
    return found


def _refuse_constant(name: str) -> Any:
    raise UsageError(f"{name} is not a JSON number. Write a finite number.")


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "true or false", int: "a number", float: "a number", str: "a string", list: "a list"}
    return names[type(value)]
