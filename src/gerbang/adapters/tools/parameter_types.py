"""Types of parameters: the JSON Schema of each, and how a JSON value becomes one.

What msgspec can describe is described by msgspec. A type that says something in the words of pydantic (a
model, `Field`, a bound of `annotated_types`), itself or in one of its fields, is pydantic's as a whole:
msgspec would leave out what it does not know, and a bound that is not checked is worse than none.
"""

import dataclasses
import functools
import importlib
import types
import typing
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any, Final

import msgspec

from gerbang.errors import ContractError

_PYDANTIC: Final = frozenset({"pydantic", "annotated_types", "pydantic_core", "pydantic_extra_types"})
_CAN_BE: Final = (
    "Use numbers, text, bool, Any, list, dict, Literal, enums, dates, paths, dataclasses, TypedDict, msgspec "
    "Structs or pydantic models."
)


def schemas_of(kinds: Mapping[str, Any], where: str) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Return the JSON Schema of each parameter's type, and the definitions that they refer to.

    Raises ContractError for a type that has none.
    """
    foreign = {name: kind for name, kind in kinds.items() if mentions(kind, _is_pydantic)}
    own = {name: kind for name, kind in kinds.items() if name not in foreign}
    found: dict[str, dict[str, Any]] = {}
    definitions: dict[str, Any] = {}
    if own:
        schemas, definitions = _described(own, where)
        found.update(zip(own, schemas, strict=True))
    for name, kind in foreign.items():
        try:
            schema = _adapter(kind).json_schema(ref_template="#/$defs/{model}")
        except ImportError:
            raise _no_schema(name, kind, where, "its bounds need the package pydantic") from None
        except (TypeError, ValueError, RuntimeError) as error:  # pydantic's own errors are among these
            raise _no_schema(name, kind, where, str(error)) from None
        for title, definition in schema.pop("$defs", {}).items():
            if definitions.setdefault(title, definition) != definition:
                raise ContractError(f"{where}: two different types are called {title!r}; rename one.")
        found[name] = schema
    return {name: _tidy(found[name]) for name in kinds}, definitions


def _described(own: Mapping[str, Any], where: str) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
    try:
        return _components(list(own.values()))
    except (TypeError, ValueError):
        for name, kind in own.items():  # all at once shares definitions; one at a time tells which it was
            try:
                _components([kind])
            except (TypeError, ValueError) as error:
                raise _no_schema(name, kind, where, "" if type(error) is TypeError else str(error)) from None
        raise


def _components(kinds: list[Any]) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
    return msgspec.json.schema_components(kinds, schema_hook=_schema, ref_template="#/$defs/{name}")


def _schema(kind: type) -> dict[str, Any]:
    """Return the schema of a type that msgspec does not know. Raises NotImplementedError, as it wants."""
    if _is_path(kind):
        return {"type": "string"}
    raise NotImplementedError


def _is_path(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, PurePath)


def _no_schema(name: str, kind: Any, where: str, why: str) -> ContractError:
    shown = getattr(kind, "__name__", None) or str(kind)
    said = f": {' '.join(why.split())[:200]}" if why else "."
    return ContractError(f"{where}: parameter {name!r}: the type {shown} has no JSON Schema{said} {_CAN_BE}")


def _tidy(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != "title"}


def _is_pydantic(kind: Any) -> bool:
    """Tell whether a type, or what `Annotated` says of one, is pydantic's to read."""
    own = kind if isinstance(kind, type) else type(kind)
    return own.__module__.partition(".")[0] in _PYDANTIC or (
        isinstance(kind, type)
        and (hasattr(kind, "__pydantic_fields__") or hasattr(kind, "__get_pydantic_core_schema__"))
    )


def is_pydantic_default(value: Any) -> bool:
    """Tell whether a parameter's default is no value but what pydantic's `Field` made."""
    return type(value).__module__.partition(".")[0] in _PYDANTIC and type(value).__name__ == "FieldInfo"


def mentions(hint: Any, wanted: Callable[[Any], bool], seen: set[Any] | None = None) -> bool:
    """Tell whether a type is, or is made with, a type of the wanted kind. Fields of classes count.

    `seen` are the classes that were looked at: a class may be one of its own fields.
    """
    if typing.get_origin(hint) is typing.Literal:
        return False
    if wanted(hint):
        return True
    seen = set() if seen is None else seen
    if isinstance(hint, type):
        if hint in seen:
            return False
        seen.add(hint)
    return any(mentions(part, wanted, seen) for part in (*typing.get_args(hint), *_fields(hint)))


def _fields(hint: Any) -> list[Any]:
    """Return the types of a class's fields, where it is one that has a schema field by field."""
    if not isinstance(hint, type) or not (
        dataclasses.is_dataclass(hint)
        or hasattr(hint, "__struct_fields__")
        or hasattr(hint, "__total__")
        or hasattr(hint, "_fields")
    ):
        return []
    try:
        return list(typing.get_type_hints(hint, include_extras=True).values())
    except (NameError, TypeError, AttributeError, SyntaxError):
        return []  # whoever makes the schema says what is wrong with it


def plain(kind: Any) -> bool:
    """True for types whose JSON value already is the Python value. A JSON integer may be written 3.0."""
    if typing.get_origin(kind) is typing.Annotated:
        if mentions(kind, _is_pydantic):
            return False
        kind = typing.get_args(kind)[0]
    if kind in (str, bool, float, Any, dict, list, type(None)):
        return True
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is dict and parts[0] is not str:
        return False
    if origin in (dict, list, typing.Union, types.UnionType):
        return all(plain(part) for part in parts)
    return origin is typing.Literal


def converter(kind: Any) -> Callable[[Any], Any]:
    """Return what makes a checked JSON value of a type. It raises ValueError for what the type refuses."""
    if mentions(kind, _is_pydantic):
        validate: Callable[[Any], Any] = _adapter(kind).validate_python
        return validate
    if kind is int:
        return _integer
    return functools.partial(_convert, kind)


def _integer(value: Any) -> Any:
    """Return a JSON number as the integer that it nearly always is already."""
    return value if type(value) is int else _convert(int, value)


def _convert(kind: Any, value: Any) -> Any:
    """Return a JSON value as the type that the function asks for."""
    try:
        return msgspec.convert(value, kind, str_keys=True, dec_hook=_made)
    except msgspec.ValidationError:
        return msgspec.convert(_whole(value), kind, str_keys=True, dec_hook=_made)


def _made(kind: type, value: Any) -> Any:
    """Make a value of a type that msgspec does not know (see `_schema`)."""
    return kind(value) if _is_path(kind) else value


def _whole(value: Any) -> Any:
    """Write whole numbers as integers: JSON Schema calls 3.0 an integer, Python does not."""
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _adapter(kind: Any) -> Any:
    """Return pydantic's adapter of a type. The package is there: the type came from it."""
    return importlib.import_module("pydantic").TypeAdapter(kind)
