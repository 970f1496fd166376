"""What a function's signature says of a tool: the JSON Schema of its parameters, and who fills which.

A parameter annotated `CallContext`, and every parameter that the contract gives to the runtime, is filled by
the runtime and hidden from the model. `Annotated[str, Argument("control")]` says what an argument is.
"""

import functools
import importlib
import inspect
import types
import typing
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from gerbang.contract.document import Argument
from gerbang.errors import ContractError
from gerbang.values import CallContext, Principal

Fill = Callable[[CallContext], Any]
"""Makes the value of a parameter that the runtime fills."""

FILLED: Final[Mapping[str, Fill]] = {
    "tenant": lambda context: context.principal.tenant,
    "user": lambda context: context.principal.user,
    "agent": lambda context: context.principal.agent,
    "run_id": lambda context: context.run_id,
    "step_id": lambda context: context.step_id,
    "call_id": lambda context: context.call_id,
    "purpose": lambda context: context.purpose,
    "idempotency_key": lambda context: context.idempotency_key,
}
"""Parameters that the runtime fills by their name, where the contract lists them in `runtime_fields`."""

_SECTIONS: Final = ("Args:", "Arguments:", "Returns:", "Raises:")


class Signature(Struct, frozen=True):
    """A function as a tool sees it. `schema` describes what the model sends, `decode` how each value becomes
    the type that the function asks for, `fill` what the runtime adds; `arguments` are the marks of arguments.
    """

    schema: dict[str, Any]
    decode: dict[str, Callable[[Any], Any]]
    fill: dict[str, Fill]
    context: str | None
    arguments: dict[str, Argument]
    required: tuple[str, ...]


def read_signature(
    function: Callable[..., Any], where: str, runtime_fields: Collection[str] = (), key: str | None = None
) -> Signature:
    """Return what the signature says. `key` is the parameter that takes the call's idempotency key.

    Raises ContractError: a parameter without a hint, of a type without a schema, or that nothing can fill.
    """
    hints = _hints(function, where)
    context: str | None = None
    kinds: dict[str, Any] = {}
    required: list[str] = []
    defaults: dict[str, Any] = {}
    fill: dict[str, Fill] = {}
    for parameter in inspect.signature(function).parameters.values():
        name = parameter.name
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ContractError(f"{where}: parameter {name!r} must be an ordinary named parameter.")
        if name not in hints:
            raise ContractError(f"{where}: parameter {name!r} needs a type hint.")
        hint = hints[name]
        if _is_context(hint):
            if context is not None:
                raise ContractError(f"{where}: only one parameter can be a CallContext.")
            context = name
            fill[name] = _itself
            continue
        if _mentions(hint, lambda kind: kind in (CallContext, Principal)):
            raise ContractError(
                f"{where}: parameter {name!r}: who calls is never the model's to say. Take one "
                "parameter annotated CallContext; the runtime fills it."
            )
        if name == key or name in runtime_fields:
            fill[name] = _filled(name, key, where)
            continue
        kinds[name] = hint
        if parameter.default is parameter.empty:
            required.append(name)
        else:
            defaults[name] = parameter.default
    return Signature(
        schema=_object(kinds, defaults, required, where),
        decode={name: _converter(kind) for name, kind in kinds.items() if not _plain(kind)},
        fill=fill,
        context=context,
        arguments={name: mark for name, kind in kinds.items() if (mark := _mark(kind, name, where))},
        required=tuple(required),
    )


def _hints(function: Callable[..., Any], where: str) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError) as error:
        raise ContractError(f"{where}: a type hint cannot be resolved: {error}") from None


def _itself(context: CallContext) -> CallContext:
    return context


def _filled(name: str, key: str | None, where: str) -> Fill:
    found = FILLED["idempotency_key"] if name == key else FILLED.get(name)
    if found is None:
        raise ContractError(
            f"{where}: nothing fills the runtime's parameter {name!r}. Known by name: {', '.join(FILLED)}; "
            "for anything else take one parameter annotated CallContext."
        )
    return found


def _mark(kind: Any, name: str, where: str) -> Argument | None:
    """Return what `Annotated` says of an argument; None when it says nothing."""
    if typing.get_origin(kind) is not typing.Annotated:
        return None
    marks = [part for part in typing.get_args(kind)[1:] if isinstance(part, Argument)]
    if len(marks) > 1:
        raise ContractError(f"{where}: parameter {name!r} has two Argument marks; put them into one.")
    if marks and marks[0].role == "runtime":
        raise ContractError(
            f"{where}: parameter {name!r}: list what the runtime fills in runtime_fields, or take one "
            "parameter annotated CallContext."
        )
    return marks[0] if marks else None


def _object(
    kinds: dict[str, Any], defaults: dict[str, Any], required: list[str], where: str
) -> dict[str, Any]:
    schemas, definitions = _schemas(list(kinds.values()), where)
    properties = dict(zip(kinds, schemas, strict=True))
    for name, value in defaults.items():
        if value is None or isinstance(value, str | int | float | bool):
            properties[name].setdefault("default", value)
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
    if definitions:
        schema["$defs"] = definitions
    return schema


def _schemas(kinds: list[Any], where: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    template = "#/$defs/{name}"
    foreign = {index: kind for index, kind in enumerate(kinds) if _mentions(kind, _is_pydantic)}
    own = [kind for index, kind in enumerate(kinds) if index not in foreign]
    try:
        out, definitions = msgspec.json.schema_components(own, ref_template=template)
    except (TypeError, ValueError) as error:
        raise ContractError(f"{where}: a parameter's type has no JSON Schema: {error}") from None
    result = list(out)
    for index, kind in foreign.items():
        try:
            schema = _adapter(kind).json_schema(ref_template="#/$defs/{model}")
        except (TypeError, ValueError, RuntimeError) as error:  # pydantic's own errors are among these
            raise ContractError(f"{where}: a parameter's type has no JSON Schema: {error}") from None
        for name, definition in schema.pop("$defs", {}).items():
            if definitions.setdefault(name, definition) != definition:
                raise ContractError(f"{where}: two different types are called {name!r}; rename one.")
        result.insert(index, schema)
    return [_tidy(schema) for schema in result], definitions


def _tidy(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != "title"}


def _is_pydantic(kind: Any) -> bool:
    return isinstance(kind, type) and callable(getattr(kind, "model_json_schema", None))


def _is_context(hint: Any) -> bool:
    """True for CallContext, also when it is optional or annotated."""
    parts = [part for part in _flat(hint) if part is not type(None)]
    return parts == [CallContext]


def _flat(hint: Any) -> list[Any]:
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        return _flat(typing.get_args(hint)[0])
    if origin in (typing.Union, types.UnionType):
        return [part for member in typing.get_args(hint) for part in _flat(member)]
    return [hint]


def _mentions(hint: Any, wanted: Callable[[Any], bool]) -> bool:
    """Tell whether a type is, or is made with, a type of the wanted kind."""
    if typing.get_origin(hint) is typing.Literal:
        return False
    return wanted(hint) or any(_mentions(part, wanted) for part in typing.get_args(hint))


def _plain(kind: Any) -> bool:
    """True for types whose JSON value already is the Python value. A JSON integer may be written 3.0."""
    if typing.get_origin(kind) is typing.Annotated:
        kind = typing.get_args(kind)[0]
    if kind in (str, bool, float, Any, dict, list, type(None)):
        return True
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is dict and parts[0] is not str:
        return False
    if origin in (dict, list, typing.Union, types.UnionType):
        return all(_plain(part) for part in parts)
    return origin is typing.Literal


def _converter(kind: Any) -> Callable[[Any], Any]:
    if _mentions(kind, _is_pydantic):
        validate: Callable[[Any], Any] = _adapter(kind).validate_python
        return validate
    return functools.partial(_convert, kind)


def _convert(kind: Any, value: Any) -> Any:
    """Return a JSON value as the type that the function asks for."""
    try:
        return msgspec.convert(value, kind, str_keys=True)
    except msgspec.ValidationError:
        return msgspec.convert(_whole(value), kind, str_keys=True)


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


def read_docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Split a docstring into its text and the `name: meaning` lines of its `Args:` section.

    A line that is indented deeper than the first one of the section belongs to the field above it.
    """
    margin = 0
    text: list[str] = []
    fields: dict[str, str] = {}
    section, current = "", ""
    for line in (inspect.getdoc(function) or "").splitlines():
        bare = line.strip()
        outside = bool(line) and not line[0].isspace()
        if outside:
            section = bare if bare in _SECTIONS else ""
            margin = 0
        if outside and section:
            text.extend(["Returns"] if section == "Returns:" else [])
        elif section in ("Args:", "Arguments:"):
            head, colon, about = bare.partition(":")
            name = head.partition("(")[0].strip()  # `city (str): ...` is a common form
            margin = margin or len(line) - len(line.lstrip())
            if colon and name.isidentifier() and len(line) - len(line.lstrip()) <= margin:
                current = name
                fields[name] = about.strip()
            elif current and bare:
                fields[current] += " " + bare
        elif section != "Raises:":
            text.append(bare)
    return " ".join(" ".join(text).split()), fields
