"""Calls in a JSON value that was read as a whole: which of the known shapes it has, if any."""

from typing import Any

from gerbang.parse.call_object import ARGUMENT_KEYS, LIST_KEYS, NAME_KEYS, NESTED_KEYS, read_object
from gerbang.parse.faults import Broken

Call = tuple[str, dict[str, Any]]
"""A name and its arguments."""


def calls_of(value: Any, *, repair: bool) -> list[Call] | None:
    """Return the calls that a value stands for, or None when it has the shape of something else.

    Raises Broken for what is clearly a call but has no usable arguments.
    """
    if isinstance(value, list):
        found = [_call(item, repair) for item in value]
        if not found or any(call is None for call in found):
            return None
        return [call for call in found if call is not None]
    if isinstance(value, dict):
        for key in LIST_KEYS:
            if isinstance(value.get(key), list):
                return calls_of(value[key], repair=repair)
        call = _call(value, repair)
        return None if call is None else [call]
    return None


def _call(value: Any, repair: bool) -> Call | None:
    if not isinstance(value, dict):
        return None
    for key in NESTED_KEYS:
        if isinstance(value.get(key), dict):
            return _call(value[key], repair)
    names = [value[key] for key in NAME_KEYS if isinstance(value.get(key), str)]
    given = [value[key] for key in ARGUMENT_KEYS if key in value]
    if not names or not given:
        return None
    name = value["name"] if isinstance(value.get("name"), str) else names[0]
    if len(given) > 1:
        raise Broken("CALL_AMBIGUOUS", "the arguments are given twice")
    arguments = given[0]
    if isinstance(arguments, str) and arguments.strip().startswith("{"):
        arguments = read_object(arguments, repair=repair)[0]
    if arguments is None or arguments == "":
        arguments = {}
    if not isinstance(arguments, dict):
        raise Broken("CALL_SHAPE", "the arguments are no object")
    return name, arguments


def router_call(value: Any, schema: Any) -> Call | None:
    """Return the decision `{"tool": NAME, "input": …}` as a call; `none` stays a name here.

    A plain input goes to the tool's only argument, or to one called `input`.
    """
    if not isinstance(value, dict) or not isinstance(value.get("tool"), str) or "input" not in value:
        return None
    given = value["input"]
    if isinstance(given, dict):
        return value["tool"], given
    if given is None:
        return value["tool"], {}
    properties = schema(value["tool"]).get("properties") or {}
    key = next(iter(properties)) if len(properties) == 1 else "input"
    return value["tool"], {key: given}
