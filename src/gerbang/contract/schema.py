"""JSON Schema, compiled once and offline: no reference leaves the document, patterns run in linear time."""

from functools import lru_cache
from typing import Any, Final, Protocol

import jsonschema_rs
import orjson

from gerbang.contract.recursion import branches, too_much_to_explain
from gerbang.errors import ContractError
from gerbang.limits import MAX_FINDINGS
from gerbang.values import InvalidField
from gerbang.values import pointer as pointers
from gerbang.values.sentences import field as finding

_LINEAR: Final = jsonschema_rs.RegexOptions()
_MAX_SCHEMA_BYTES: Final = 1_048_576
_MAX_PART: Final = 200
_MAX_VALUES: Final = 5_000


class Validator(Protocol):
    """What this package needs of a compiled schema."""

    def is_valid(self, instance: Any) -> bool:
        """Tell whether the value fits."""
        ...

    def validate(self, instance: Any) -> None:
        """Raise ValueError with the first reason why it does not fit."""
        ...

    def iter_errors(self, instance: Any) -> Any:
        """Yield every reason why it does not."""
        ...


class Branching:
    """A validator of a schema that refers to itself and has choices: errors of deep values are not listed."""

    def __init__(self, validator: Validator, branching: int) -> None:
        self.branching = branching
        self.is_valid = validator.is_valid
        self.validate = validator.validate
        self.iter_errors = validator.iter_errors


def compile_schema(schema: dict[str, Any], origin: str) -> Validator:
    """Return a validator for a draft 2020-12 schema; equal schemas share one.

    Raises ContractError when the schema is wrong, too large, refers outside itself, or holds a pattern
    that cannot be matched in linear time.
    """
    try:
        text = orjson.dumps(schema, option=orjson.OPT_SORT_KEYS)
    except (TypeError, ValueError) as error:
        raise ContractError(f"{origin}: the schema is not JSON ({error}).") from None
    if len(text) > _MAX_SCHEMA_BYTES:
        raise ContractError(f"{origin}: the schema is {len(text)} bytes; the limit is {_MAX_SCHEMA_BYTES}.")
    try:
        return _compile(text)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        reason = str(error).split("\n", 1)[0].rpartition("ValueError: ")[2][:300]
        raise ContractError(f"{origin}: the JSON Schema cannot be used: {reason}") from None


@lru_cache(maxsize=16_384)
def _compile(text: bytes) -> Validator:
    schema = orjson.loads(text)
    validator: Validator = jsonschema_rs.Draft202012Validator(
        schema, retriever=_refuse, pattern_options=_LINEAR, validate_formats=True
    )
    branching = branches(schema) if b'Ref"' in text or b'"$ref"' in text else 1
    return validator if branching == 1 else Branching(validator, branching)


def _refuse(uri: str) -> Any:
    raise ValueError(f"reference to {uri[:120]} refused: schemas may refer only to themselves")


def findings(validator: Validator, arguments: Any) -> tuple[tuple[InvalidField, ...], int]:
    """Return what is wrong with `arguments`, at most MAX_FINDINGS of it, and how many there were in all.

    Of arguments with more than 5,000 values only the first error is looked for. Where the schema refers to
    itself inside a choice, deep arguments get one finding that names no field: finding it could take hours.
    """
    if isinstance(validator, Branching) and too_much_to_explain(validator.branching, arguments):
        return (_TOO_DEEP_TO_EXPLAIN,), 1
    fields: list[InvalidField] = []
    total = 0
    if _many(arguments):  # the validator makes every error before it hands out the first: 13 us each
        try:
            validator.validate(arguments)
        except ValueError as first:
            fields = _describe(first)
        return tuple(fields[:MAX_FINDINGS]), len(fields)
    for error in validator.iter_errors(arguments):
        if len(fields) >= MAX_FINDINGS:  # the others are counted, not described
            total += len(getattr(error.kind, "unexpected", ".")) or 1
            continue
        described = _describe(error)
        total += len(described)
        fields.extend(described[: MAX_FINDINGS - len(fields)])
    fields.sort(key=lambda field: (field.path, field.code))
    return tuple(fields), total


def pointer(path: Any) -> str:
    """Return the JSON Pointer of a path of keys and indexes. Very long keys are cut."""
    return pointers.pointer([str(part)[:_MAX_PART] for part in path])


def _many(value: Any) -> bool:
    """Tell whether there are so many values that naming every error would take seconds."""
    left = _MAX_VALUES
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict | list):
            left -= len(item)
            if left < 0:
                return True
            stack.extend(item.values() if isinstance(item, dict) else item)
    return False


_TOO_DEEP_TO_EXPLAIN: Final = finding("", "SCHEMA_MISMATCH", "deep")
_CODES: Final = {
    "required": "MISSING_FIELD",
    "additionalProperties": "EXTRA_FIELD",
    "unevaluatedProperties": "EXTRA_FIELD",
    "type": "WRONG_TYPE",
    "enum": "NOT_IN_ENUM",
    "const": "NOT_IN_ENUM",
    "maxLength": "TOO_LONG",
    "maxItems": "TOO_LONG",
    "minLength": "TOO_SHORT",
    "minItems": "TOO_SHORT",
    "maximum": "OUT_OF_RANGE",
    "minimum": "OUT_OF_RANGE",
    "exclusiveMaximum": "OUT_OF_RANGE",
    "exclusiveMinimum": "OUT_OF_RANGE",
    "multipleOf": "OUT_OF_RANGE",
    "pattern": "BAD_FORMAT",
    "format": "BAD_FORMAT",
    "falseSchema": "EXTRA_FIELD",
}


def _describe(error: Any) -> list[InvalidField]:
    """Turn one validator error into findings. The value itself is never quoted: it may be a secret."""
    kind = error.kind.name
    path = pointer(error.instance_path)
    code = _CODES.get(kind, "SCHEMA_MISMATCH")
    if kind == "falseSchema":
        return [finding(path, code if path else "SCHEMA_MISMATCH", kind)]
    if code == "EXTRA_FIELD":
        return [
            finding(f"{path}/{pointer([name])[1:]}", code, "additionalProperties")
            for name in error.kind.unexpected
        ]
    if kind == "required":
        return [finding(f"{path}/{pointer([error.kind.property])[1:]}", code, kind)]
    if kind in ("anyOf", "oneOf") and (types := _types_of_branches(error)):
        return [_wrong_type(path, types, error.instance)]
    return [_finding(path, code, kind, error)]


def _types_of_branches(error: Any) -> list[str]:
    """Return the types that a choice of schemas would take, when the type is all that is wrong."""
    types: list[str] = []
    for branch in getattr(error.kind, "context", ()):
        for inner in branch:
            if inner.kind.name != "type" or list(inner.instance_path) != list(error.instance_path):
                return []
            types.extend(str(name) for name in inner.kind.types)
    return list(dict.fromkeys(types))


def _wrong_type(path: str, types: Any, value: Any) -> InvalidField:
    wanted = "|".join(str(name) for name in types)
    return finding(path, "WRONG_TYPE", "type", wanted=wanted, given=_type_name(value))


def _finding(path: str, code: str, kind: str, error: Any) -> InvalidField:
    detail = error.kind
    if kind == "type":
        return _wrong_type(path, detail.types, error.instance)
    if kind == "enum":
        return finding(path, code, kind, options=_short(detail.options))
    if kind == "const":
        return finding(path, code, kind, value=_short(detail.expected_value))
    if kind == "pattern":
        return finding(path, code, kind, pattern=_short(detail.pattern))
    if kind == "format":
        return finding(path, code, kind, format=str(detail.format))
    if kind == "multipleOf":
        return finding(path, code, kind, step=str(detail.multiple_of))
    if kind in _CODES:
        return finding(path, code, kind, limit=str(detail.limit))
    return finding(path, code, "other", keyword=kind)


def _type_name(value: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return "null" if value is None else names.get(type(value), "something else")


def _short(value: Any) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= 200 else text[:200] + "…"
