"""What a lint rule and its findings are, and the parts of a contract that rules look at."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Literal

from msgspec import Struct

from gerbang.values import Contract, RiskClass
from gerbang.values.pointer import escaped

Level = Literal["note", "warning", "error"]
LEVELS: Final[tuple[Level, ...]] = ("note", "warning", "error")
"""From the mildest on."""

Hit = tuple[str, str]
"""JSON Pointer into the contract, and what is wrong there."""


class Rule(Struct, frozen=True, gc=False):
    """One thing to look at. `what` and `fix` are sentences; exactly one of `look` and `compare` is set.

    `look` takes one contract; `compare` takes all contracts and yields each hit with its contract.
    """

    id: str
    level: Level
    what: str
    fix: str
    look: Callable[[Contract], Iterable[Hit]] | None = None
    compare: Callable[[Sequence[Contract]], Iterable[tuple[Contract, Hit]]] | None = None


class Finding(Struct, frozen=True, gc=False):
    """What a rule found in one contract.

    `path` is a JSON Pointer into the contract, `origin` where the contract says it comes from; `file` and
    `line` (from 1) are set where they are known.
    """

    rule: str
    level: Level
    tool: str
    path: str
    message: str
    fix: str
    origin: str = ""
    file: str | None = None
    line: int | None = None


COMMUNICATES: Final = RiskClass.EXTERNAL_COMMUNICATION
CHANGES: Final = frozenset(
    {
        RiskClass.WRITE_INTERNAL,
        RiskClass.WRITE_EXTERNAL,
        RiskClass.EXTERNAL_COMMUNICATION,
        RiskClass.TRANSACTIONAL,
        RiskClass.DESTRUCTIVE,
    }
)
"""Classes whose effect must not happen twice."""
FINAL: Final = frozenset({RiskClass.TRANSACTIONAL, RiskClass.DESTRUCTIVE})
"""Classes that are asked about, whatever rules say."""

_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")


def vocabulary(text: str) -> frozenset[str]:
    """Return the words of a text with blanks between them."""
    return frozenset(text.split())


def words(name: str) -> list[str]:
    """Return the words of an identifier, in small letters: `chatId`, `chat_id` and `chat-id` are the same."""
    return [word.lower() for word in _WORD.findall(name)]


def said(contract: Contract) -> str:
    """Return all that the model is told of the tool, in small letters."""
    advice = contract.guidance
    parts = (
        contract.description,
        advice.when_to_use,
        advice.when_not,
        advice.effect,
        advice.returns_text,
        advice.limits,
        advice.nudge,
    )
    return " ".join(part for part in parts if part).lower()


def arguments(contract: Contract) -> dict[str, Any]:
    """Return the schemas of the arguments that the model fills, by name; `true` stands as an empty one."""
    properties = contract.parameters.get("properties", {})
    filled = ((name, part) for name, part in properties.items() if name not in contract.runtime_fields)
    return {name: part if isinstance(part, dict) else {} for name, part in filled}


def parts(contract: Contract) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield pointer, name and schema of every part of the arguments' schema, the whole first.

    The name is that of the nearest property. References are not followed: what they name is yielded once.
    """
    stack: list[tuple[str, str, Any]] = [("/parameters", "", contract.parameters)]
    while stack:
        path, name, schema = stack.pop()
        if not isinstance(schema, dict):
            continue
        yield path, name, schema
        inner: list[tuple[str, str, Any]] = []
        for key in ("properties", "$defs", "patternProperties"):
            members = _members(schema.get(key))
            inner += [(f"{path}/{key}/{escaped(member)}", member, part) for member, part in members]
        inner += [(f"{path}/{key}", name, schema.get(key)) for key in ("items", "additionalProperties")]
        for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            branches = schema.get(key)
            if isinstance(branches, list):
                inner += [(f"{path}/{key}/{index}", name, part) for index, part in enumerate(branches)]
        stack.extend(reversed(inner))


def types(schema: dict[str, Any]) -> frozenset[str]:
    """Return the JSON types that a schema names itself."""
    named = schema.get("type")
    return frozenset([named] if isinstance(named, str) else named or ())


def fixed(schema: dict[str, Any]) -> bool:
    """Tell whether the schema lists its values."""
    return "enum" in schema or "const" in schema


def _members(value: Any) -> Iterable[tuple[str, Any]]:
    return value.items() if isinstance(value, dict) else ()
