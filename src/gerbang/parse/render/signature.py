"""A tool in one line: name, parameters with short types, purpose. Bounded, whatever the schema holds."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from gerbang.limits import MAX_TOOL_NAME
from gerbang.parse.render.refusal import RenderError, quoted
from gerbang.values.pointer import at

MAX_DESCRIPTION: Final = 240
"""Characters of a tool's description in its line."""
MAX_PARAMETERS: Final = 700
"""Characters of all its parameters in its line."""
MAX_NOTE: Final = 80
"""Characters of one parameter's description."""
_MAX_TYPE: Final = 160
_MAX_DEPTH: Final = 3
_MAX_CHOICES: Final = 12
_MAX_FIELDS: Final = 6
_SPACE: Final = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]+")
"""White space, control characters and invisible marks: a description is one plain line."""


@dataclass(frozen=True, slots=True)
class Tool:
    """What a prompt says of a tool."""

    name: str
    description: str
    parameters: Mapping[str, Any]

    @property
    def properties(self) -> Mapping[str, Any]:
        """The parameters by name."""
        found = self.parameters.get("properties")
        return found if isinstance(found, Mapping) else {}

    @property
    def required(self) -> frozenset[str]:
        """Names of the parameters that must be given."""
        found = self.parameters.get("required")
        return (
            frozenset(name for name in found if isinstance(name, str))
            if isinstance(found, list)
            else frozenset()
        )


def tool_of(given: object) -> Tool:
    """Read a tool from a dict (plain or OpenAI's form) or an object with the same attributes."""
    if isinstance(given, Mapping):
        inner = given.get("function")
        source = inner if isinstance(inner, Mapping) else given
        name, text = source.get("name"), source.get("description")
        parameters = source.get("parameters", source.get("input_schema"))
    else:
        name, text = getattr(given, "name", None), getattr(given, "description", None)
        parameters = getattr(given, "parameters", None)
    if not isinstance(name, str) or not name or not name.isprintable() or name != name.strip():
        raise RenderError(
            "A tool has no usable name: give {'name': ..., 'description': ..., 'parameters': {...}}."
        )
    if len(name) > MAX_TOOL_NAME:
        raise RenderError(
            f"The tool name {quoted(name, 40)} is longer than {MAX_TOOL_NAME} characters. Shorten it."
        )
    return Tool(
        name,
        text if isinstance(text, str) else "",
        parameters if isinstance(parameters, Mapping) else {},
    )


def one_line(text: str, limit: int) -> str:
    """Return `text` on one line without control characters, at most `limit` characters."""
    line = _SPACE.sub(" ", text[: limit * 4]).strip()
    return line if len(line) <= limit and len(text) <= limit * 4 else line[: limit - 1].rstrip() + "…"


def signature(tool: Tool) -> str:
    """Return the tool's line: `name(city: string, unit?: "c"|"f") - what it does`."""
    parts: list[str] = []
    used = 0
    required = tool.required
    for key, schema in tool.properties.items():
        mark = "" if key in required else "?"
        part = f"{one_line(str(key), MAX_NOTE)}{mark}: {short_type(schema, tool.parameters)}"
        note = schema.get("description") if isinstance(schema, Mapping) else None
        if isinstance(note, str) and note.strip():
            part += f" ({one_line(note, MAX_NOTE)})"
        used += len(part) + 2
        if used > MAX_PARAMETERS:
            parts.append("…")
            break
        parts.append(part)
    purpose = one_line(tool.description, MAX_DESCRIPTION)
    return f"- {tool.name}({', '.join(parts)})" + (f" - {purpose}" if purpose else "")


def short_type(schema: Any, root: Mapping[str, Any], depth: int = 0) -> str:
    """Return a schema as a short type expression, at most 160 characters, a few levels deep."""
    text = _type(resolved(schema, root), root, depth)
    return text if len(text) <= _MAX_TYPE else text[: _MAX_TYPE - 1] + "…"


def resolved(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow local `$ref`s of `schema` inside `root`. Anything that cannot be followed is an open schema."""
    for _ in range(8):  # a chain of references longer than this is a loop
        if not isinstance(schema, Mapping):
            return {}
        ref = schema.get("$ref")
        if not isinstance(ref, str):
            return schema
        if not ref.startswith("#"):
            return {}
        schema = at(root, ref[1:])
    return {}


def _type(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> str:
    if "const" in schema:
        return one_line(_json(schema["const"]), 40)
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        shown = [one_line(_json(choice), 40) for choice in choices[:_MAX_CHOICES]]
        return "|".join(shown) + ("|…" if len(choices) > _MAX_CHOICES else "")
    for word in ("anyOf", "oneOf"):
        options = schema.get(word)
        if isinstance(options, list) and options and depth < _MAX_DEPTH:
            kinds = [_type(resolved(option, root), root, depth + 1) for option in options[:_MAX_FIELDS]]
            return "|".join(dict.fromkeys(kinds))
    kind = schema.get("type")
    if isinstance(kind, list):
        return "|".join(str(one) for one in kind[:_MAX_CHOICES])
    if kind == "array" and depth < _MAX_DEPTH:
        items = resolved(schema.get("items"), root)
        return f"[{_type(items, root, depth + 1)}]" if items else "array"
    if (kind == "object" or "properties" in schema) and depth < _MAX_DEPTH:
        return _object(schema, root, depth)
    return (kind if isinstance(kind, str) else "any") + _bounds(schema)


def _object(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> str:
    tool = Tool("", "", schema)
    if not tool.properties:
        return "object"
    required = tool.required
    fields = []
    for key, value in list(tool.properties.items())[:_MAX_FIELDS]:
        kind = _type(resolved(value, root), root, depth + 1)
        fields.append(f"{one_line(str(key), 40)}{'' if key in required else '?'}: {kind}")
    return "{" + ", ".join(fields) + (", …" if len(tool.properties) > _MAX_FIELDS else "") + "}"


def _bounds(schema: Mapping[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if _is_number(low) and _is_number(high):
        return f" {low}..{high}"
    if _is_number(low):
        return f" >={low}"
    return f" <={high}" if _is_number(high) else ""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
