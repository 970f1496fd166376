"""What a function's signature says of a tool: the JSON Schema of its parameters, and who fills which.

A parameter annotated `CallContext`, and every parameter that the contract gives to the runtime, is filled by
the runtime and hidden from the model. `Annotated[str, Argument("control")]` says what an argument is.
"""

import enum
import inspect
import types
import typing
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from msgspec import Struct

from gerbang.adapters.tools.parameter_types import converter, is_pydantic_default, mentions, plain, schemas_of
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

    Raises ContractError: no function, a parameter without a hint, of a type without a schema, or that nothing
    can fill.
    """
    if not inspect.isroutine(function):  # its hints would not be found, nor whether it is to be awaited
        raise ContractError(f"{where}: @tool takes a function or a method; write one that calls this object.")
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
        if mentions(hint, lambda kind: kind in (CallContext, Principal)):
            raise ContractError(
                f"{where}: parameter {name!r}: who calls is never the model's to say. Take one "
                "parameter annotated CallContext; the runtime fills it."
            )
        if name == key or name in runtime_fields:
            fill[name] = _filled(name, key, where)
            continue
        kinds[name] = hint
        if is_pydantic_default(parameter.default):
            raise ContractError(
                f"{where}: parameter {name!r}: write Annotated[TYPE, Field(...)] as its hint, and only the "
                "value as its default."
            )
        if parameter.default is parameter.empty:
            required.append(name)
        else:
            defaults[name] = parameter.default
    return Signature(
        schema=_object(kinds, defaults, required, where),
        decode={name: converter(kind) for name, kind in kinds.items() if not plain(kind)},
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


def _about(kind: Any) -> str:
    """Return what `Annotated` says of a parameter in words: a text, or a `Doc` of PEP 727."""
    if typing.get_origin(kind) is not typing.Annotated:
        return ""
    parts = typing.get_args(kind)[1:]
    said = [part if isinstance(part, str) else getattr(part, "documentation", None) for part in parts]
    return " ".join(" ".join(text for text in said if isinstance(text, str)).split())


def _object(
    kinds: dict[str, Any], defaults: dict[str, Any], required: list[str], where: str
) -> dict[str, Any]:
    properties, definitions = schemas_of(kinds, where)
    for name, value in defaults.items():
        shown = value.value if isinstance(value, enum.Enum) else value
        if shown is None or isinstance(shown, str | int | float | bool):
            properties[name].setdefault("default", shown)
    for name, kind in kinds.items():
        about = _about(kind)
        if about:
            properties[name].setdefault("description", about)
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
    if definitions:
        schema["$defs"] = definitions
    return schema


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
