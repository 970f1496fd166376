"""Tools that are Python functions: type hints and docstring become the contract.

::

    @tool(name="weather.get_current.v1", risk="read_external")
    async def get_weather(city: str) -> dict:
        '''Current weather for a city. Use for ... Not for ... Returns ...'''

A parameter annotated `CallContext` is filled by the runtime and hidden from the model. Types may be
anything that msgspec can describe (numbers, text, lists, dicts, enums, Literal, dataclasses, Structs,
Annotated with `msgspec.Meta`), or pydantic models.
"""

import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, ParamSpec, TypeVar

import msgspec

from gerbang.contract.build import make_contract
from gerbang.errors import ContractError
from gerbang.limits import RESULT_MAX_CHARS, TOOL_TIMEOUT_S
from gerbang.values import CallContext, Contract, RiskClass

P = ParamSpec("P")
R = TypeVar("R")

_SECTIONS = ("Args:", "Arguments:", "Returns:", "Raises:")


class PythonTool(Generic[P, R]):
    """A function with its contract. Calling it directly runs the plain function, outside the gate."""

    def __init__(self, function: Callable[P, R], contract: Contract, decode: "dict[str, Any]") -> None:
        functools.update_wrapper(self, function)
        self.function: Callable[..., Any] = function
        self.contract = contract
        self.blocking = not inspect.iscoroutinefunction(function)
        self._context = next(iter(contract.runtime_fields), None)
        self._decode = decode

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the plain function."""
        result: R = self.function(*args, **kwargs)
        return result

    def __repr__(self) -> str:
        return f"<tool {self.contract.name}>"

    def _bind(self, arguments: Mapping[str, Any], context: CallContext) -> dict[str, Any]:
        bound = dict(arguments)
        for name, convert in self._decode.items():
            if name in bound:
                bound[name] = convert(bound[name])
        if self._context is not None:
            bound[self._context] = context
        return bound

    async def invoke(self, arguments: Mapping[str, Any], context: CallContext) -> Any:
        """Run a coroutine function with checked arguments."""
        if not self._decode and self._context is None:
            return await self.function(**arguments)
        return await self.function(**self._bind(arguments, context))

    def invoke_sync(self, arguments: Mapping[str, Any], context: CallContext) -> Any:
        """Run a plain function with checked arguments. Called in a worker thread."""
        return self.function(**self._bind(arguments, context))


class _Decorator(typing.Protocol):
    def __call__(self, function: Callable[P, R], /) -> PythonTool[P, R]: ...


def tool(
    *,
    name: str,
    risk: str | RiskClass,
    description: str | None = None,
    timeout_s: float = TOOL_TIMEOUT_S,
    result_max_chars: int = RESULT_MAX_CHARS,
    natural_key: Iterable[str] = (),
    sensitive: Iterable[str] = (),
    intents: Iterable[str] = (),
    cost_units: float = 0.0,
    returns: dict[str, Any] | None = None,
) -> _Decorator:
    """Make a tool of a typed function.

    `name` is canonical (`weather.get_current.v1`), `risk` one of the risk classes. The description is
    the docstring up to its `Args:` section, unless given. `timeout_s` is in seconds, `result_max_chars`
    in characters. `natural_key` names the parameters that identify the effect, `sensitive` those that
    records must not show. Raises ContractError at once for anything that cannot be a contract.
    """

    def decorate(function: Callable[P, R], /) -> PythonTool[P, R]:
        where = f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', function)}"
        schema, context, decode = _signature(function, where)
        text, fields = _docstring(function)
        for field, about in fields.items():
            if field in schema["properties"]:
                schema["properties"][field].setdefault("description", about)
        shown = description if description is not None else text
        if not shown.strip():
            raise ContractError(f"{where}: the tool needs a docstring; it is what the model reads.")
        contract = make_contract(
            name=name,
            risk=risk,
            description=shown,
            parameters=schema,
            returns=returns,
            timeout_s=timeout_s,
            result_max_chars=result_max_chars,
            runtime_fields=() if context is None else (context,),
            natural_key=natural_key,
            sensitive=sensitive,
            intents=intents,
            cost_units=cost_units,
            origin=where,
        )
        return PythonTool(function, contract, decode)

    return decorate


def _signature(function: Callable[..., Any], where: str) -> tuple[dict[str, Any], str | None, dict[str, Any]]:
    """Return the JSON Schema of the parameters, the name of the context parameter, and converters."""
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise ContractError(f"{where}: a type hint cannot be resolved: {error}") from None
    context: str | None = None
    names: list[str] = []
    kinds: list[Any] = []
    required: list[str] = []
    defaults: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ContractError(f"{where}: parameter {parameter.name!r} must be an ordinary named parameter.")
        if parameter.name not in hints:
            raise ContractError(f"{where}: parameter {parameter.name!r} needs a type hint.")
        hint = hints[parameter.name]
        if hint is CallContext:
            context = parameter.name
            continue
        names.append(parameter.name)
        kinds.append(hint)
        if parameter.default is parameter.empty:
            required.append(parameter.name)
        else:
            defaults[parameter.name] = parameter.default
    schemas, definitions = _schemas(kinds, where)
    properties = dict(zip(names, schemas, strict=True))
    for name, value in defaults.items():
        if value is None or isinstance(value, str | int | float | bool):
            properties[name].setdefault("default", value)
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
    if definitions:
        schema["$defs"] = definitions
    decode = {name: _converter(kind) for name, kind in zip(names, kinds, strict=True) if not _plain(kind)}
    return schema, context, decode


def _schemas(kinds: list[Any], where: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    template = "#/$defs/{name}"
    foreign = {index: kind for index, kind in enumerate(kinds) if _is_pydantic(kind)}
    own = [kind for index, kind in enumerate(kinds) if index not in foreign]
    try:
        out, definitions = msgspec.json.schema_components(own, ref_template=template)
    except TypeError as error:
        raise ContractError(f"{where}: a parameter's type has no JSON Schema: {error}") from None
    result = list(out)
    for index, kind in foreign.items():
        schema = kind.model_json_schema(ref_template="#/$defs/{model}")
        definitions.update(schema.pop("$defs", {}))
        result.insert(index, schema)
    return [_tidy(schema) for schema in result], definitions


def _tidy(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != "title"}


def _is_pydantic(kind: Any) -> bool:
    return isinstance(kind, type) and callable(getattr(kind, "model_json_schema", None))


def _plain(kind: Any) -> bool:
    """True for types whose JSON value already is the Python value."""
    if typing.get_origin(kind) is typing.Annotated:
        kind = typing.get_args(kind)[0]
    if kind in (str, int, bool, float, Any, dict, list, type(None)):
        return True
    origin = typing.get_origin(kind)
    if origin in (dict, list, typing.Union, types.UnionType):
        return all(_plain(part) for part in typing.get_args(kind))
    return origin is typing.Literal


def _converter(kind: Any) -> Callable[[Any], Any]:
    if _is_pydantic(kind):
        validate: Callable[[Any], Any] = kind.model_validate
        return validate
    return functools.partial(msgspec.convert, type=kind)


def _docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Split a docstring into its text and the `name: meaning` lines of its `Args:` section."""
    text: list[str] = []
    fields: dict[str, str] = {}
    section, current = "", ""
    for line in (inspect.getdoc(function) or "").splitlines():
        bare = line.strip()
        outside = bool(line) and not line[0].isspace()
        if outside:
            section = bare if bare in _SECTIONS else ""
        if outside and section:
            text.extend(["Returns"] if section == "Returns:" else [])
        elif section in ("Args:", "Arguments:"):
            name, colon, about = bare.partition(":")
            if colon and name.isidentifier():
                current = name
                fields[name] = about.strip()
            elif current and bare:
                fields[current] += " " + bare
        elif section != "Raises:":
            text.append(bare)
    return " ".join(" ".join(text).split()), fields
