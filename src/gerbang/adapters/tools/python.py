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
import importlib
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, ParamSpec, TypeVar

import msgspec

from gerbang.contract.build import make_contract
from gerbang.errors import ContractError, ToolError
from gerbang.limits import RESULT_MAX_CHARS, TOOL_TIMEOUT_S
from gerbang.values import CallContext, Contract, Principal, RiskClass

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
                try:
                    bound[name] = convert(bound[name])
                except ValueError as error:  # pydantic's and msgspec's ValidationError are ValueErrors
                    raise _bad_value(name, error) from None
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
    secrets: Iterable[str] = (),
) -> _Decorator:
    """Make a tool of a typed function.

    `name` is canonical (`weather.get_current.v1`), `risk` one of the risk classes. The description is
    the docstring up to its `Args:` section, unless given. `timeout_s` is in seconds, `result_max_chars`
    in characters. `natural_key` names the parameters that identify the effect, `sensitive` those that
    records must not show. `secrets` names the secrets that the function may ask its CallContext for.
    Raises ContractError at once for anything that cannot be a contract.
    """

    def decorate(function: Callable[P, R], /) -> PythonTool[P, R]:
        where = f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', function)}"
        schema, context, decode = _signature(function, where)
        text, fields = _docstring(function)
        for field, about in fields.items():
            if field in schema["properties"]:
                schema["properties"][field].setdefault("description", about)
        shown: Any = description if description is not None else text
        if not isinstance(shown, str) or not shown.strip():
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
            secrets=secrets,
        )
        if contract.secrets and context is None:
            raise ContractError(
                f"{where}: the tool names secrets but has no way to ask for them: add a parameter annotated "
                "CallContext, and call its secret(name)."
            )
        return PythonTool(function, contract, decode)

    return decorate


def _signature(function: Callable[..., Any], where: str) -> tuple[dict[str, Any], str | None, dict[str, Any]]:
    """Return the JSON Schema of the parameters, the name of the context parameter, and converters."""
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError) as error:
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
        if _is_context(hint):
            if context is not None:
                raise ContractError(f"{where}: only one parameter can be a CallContext.")
            context = parameter.name
            continue
        if _mentions(hint, lambda kind: kind in (CallContext, Principal)):
            raise ContractError(
                f"{where}: parameter {parameter.name!r}: who calls is never the model's to say. Take one "
                "parameter annotated CallContext; the runtime fills it."
            )
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


def _bad_value(name: str, error: ValueError) -> ToolError:
    """Return the error for a value that fits its schema and not its type. Nothing has run."""
    listed = getattr(error, "errors", None)
    if callable(listed):  # pydantic's text would quote the value
        said = "; ".join(str(item["msg"]) for item in listed(include_input=False, include_url=False))
    else:
        said = str(error)
    failure = ToolError(
        f"The value of {name!r} cannot be used: {said[:300]}",
        code="BAD_VALUE",
        error_type="validation_error",
        recoverable=True,
        suggested_fix="Mend this field and send the call again.",
        effect="none",
    )
    failure.params = {"name": repr(name), "why": said[:300]}
    return failure


def _docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
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
