"""Tools that are Python functions: type hints and docstring become the contract, or a contract file does.

::

    @tool(name="weather.get_current.v1", risk="read_external")
    async def get_weather(city: str) -> dict:
        '''Current weather for a city. Use for ... Not for ... Returns ...'''

    @tool(contract="contracts/payments.yaml#payments.refund.v1")
    async def refund(payment: str, amount: int, context: CallContext) -> dict: ...

A parameter annotated `CallContext` is filled by the runtime and hidden from the model. Types may be
anything that msgspec can describe (numbers, text, lists, dicts, enums, Literal, dataclasses, TypedDict,
Structs, paths, Annotated with `msgspec.Meta`), or pydantic (models, Annotated with `Field`). A text in
`Annotated` describes the parameter, and so does the docstring, in Google's, NumPy's or Sphinx's form.
`Annotated[str, Argument("control")]` says what an argument is.
"""

import functools
import inspect
import typing
from collections.abc import Callable, Coroutine, Iterable, Mapping
from types import CoroutineType
from typing import Any, Generic, ParamSpec, TypeVar, Unpack, overload

from msgspec.structs import replace

from gerbang.adapters.tools.docstring import read_docstring
from gerbang.adapters.tools.signature import Signature, read_signature
from gerbang.contract.build import make_contract, sealed
from gerbang.contract.document import Argument
from gerbang.contract.explain import nearest
from gerbang.contract.fields import ContractFields
from gerbang.errors import ContractError, ToolError
from gerbang.values import CallContext, Contract, RiskClass

P = ParamSpec("P")
R = TypeVar("R")


class PythonTool(Generic[P, R]):
    """A function with its contract. Calling it directly runs the plain function, outside the gate.

    `declared` is the digest of the contract file that the function was written for, None without one.
    """

    def __init__(
        self, function: Callable[P, R], contract: Contract, signature: Signature, declared: str | None = None
    ) -> None:
        functools.update_wrapper(self, function)
        self.function: Callable[..., Any] = function
        self.contract = contract
        self.declared = declared
        self.pinned = False
        self.blocking = not inspect.iscoroutinefunction(function)
        self.previewer: Callable[..., Any] | None = None
        self.named_files: Callable[[Mapping[str, Any]], Any] | None = None
        self._fill = signature.fill
        self._decode = signature.decode

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the plain function."""
        result: R = self.function(*args, **kwargs)
        return result

    def __repr__(self) -> str:
        return f"<tool {self.contract.name}>"

    def preview(self, function: Callable[P, Any]) -> Callable[P, Any]:
        """Have a function of the same parameters say what a call would do (`@pay.preview`).

        It returns a text or a JSON value, changes nothing, and may be a coroutine function. Dry runs and the
        people who approve a call see it. It runs before the call is allowed.
        """
        self.previewer = function
        return function

    def files(self, function: Callable[[Mapping[str, Any]], Any]) -> Callable[[Mapping[str, Any]], Any]:
        """Have a function say which files a call names (`@edit.files`): it gets the arguments as one mapping
        and returns paths. An approval of the call is tied to what these files hold, and is refused when
        one of them has changed. It runs before the call is allowed, and must be quick.
        """
        self.named_files = function
        return function

    def _bind(self, arguments: Mapping[str, Any], context: CallContext) -> dict[str, Any]:
        bound = dict(arguments)
        for name, convert in self._decode.items():
            if name in bound:
                try:
                    bound[name] = convert(bound[name])
                except ValueError as error:  # pydantic's and msgspec's ValidationError are ValueErrors
                    raise _bad_value(name, error) from None
        for name, value in self._fill.items():
            bound[name] = value(context)
        return bound

    def invoke(self, arguments: Mapping[str, Any], context: CallContext) -> Coroutine[Any, Any, Any]:
        """Run a coroutine function with checked arguments: return its coroutine."""
        given = arguments if not self._decode and not self._fill else self._bind(arguments, context)
        if context.clearance is not None:
            return _confirmed(self.function, given, context)
        started = self.function(**given)
        return started if isinstance(started, CoroutineType) else _awaited(started)

    def invoke_sync(self, arguments: Mapping[str, Any], context: CallContext) -> Any:
        """Run a plain function with checked arguments. Called in a worker thread."""
        bound = self._bind(arguments, context)
        if context.clearance is not None:
            context.confirm_sync()
        return self.function(**bound)


async def _awaited(started: Any) -> Any:
    """Wait for what a function gave that says of itself to be a coroutine function, and is none."""
    return await started


async def _confirmed(function: Callable[..., Any], given: Mapping[str, Any], context: CallContext) -> Any:
    """Run the function if the call may still be sent by then."""
    await context.confirm()
    return await function(**given)


class _Decorator(typing.Protocol):
    def __call__(self, function: Callable[P, R], /) -> PythonTool[P, R]: ...


class HasContract(typing.Protocol):
    """What `load_contracts` returns, among others."""

    @property
    def contract(self) -> Contract:
        """The contract."""
        ...


@overload
def tool(
    *,
    name: str,
    risk: str | RiskClass,
    description: str | None = None,
    **more: Unpack[ContractFields],
) -> _Decorator: ...


@overload
def tool(*, contract: "Contract | HasContract | str") -> _Decorator: ...


def tool(
    *bare: object,
    name: Any = None,
    risk: Any = None,
    description: str | None = None,
    contract: "Contract | HasContract | str | None" = None,
    **more: Unpack[ContractFields],
) -> _Decorator:
    """Make a tool of a typed function.

    `name` is canonical (`weather.get_current.v1`), `risk` one of the risk classes. The description is
    the docstring up to its `Args:` section, unless given. All other fields of a contract may follow as
    keywords, parts of it as mappings with the names of the YAML form: `timeout_s` is in seconds,
    `natural_key` names the parameters that identify the effect, `secrets` the secrets that the function
    may ask its CallContext for. Marks of arguments stand in the hints (`Annotated[str, Argument("control")]`)
    or in `arguments`.

    `contract` takes a whole contract instead: one that was loaded, or the path of a YAML or JSON file, with
    `#NAME` at its end when the file holds several. The function's parameters must be those of the contract.
    Raises ContractError at once for anything that cannot be a contract.
    """
    if bare:
        raise ContractError(
            "@tool takes keywords only: write @tool(name='weather.get_current.v1', risk='read_external')."
        )
    if contract is not None and (name is not None or risk is not None or description is not None or more):
        raise ContractError("@tool takes a whole contract, or the fields of one; not both.")

    listed = _listed(more)

    def decorate(function: Callable[P, R], /) -> PythonTool[P, R]:
        where = f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', function)}"
        if contract is not None:
            return python_tool(function, _given(contract), where)
        fields = more.copy()
        signature = read_signature(function, where, listed, fields.get("key_argument"))
        made = make_contract(
            name=name,
            risk=risk,
            description=_description(function, description, signature, where),
            parameters=signature.schema,
            origin=where,
            **_with_marks(fields, signature, where),
        )
        _check_secrets(made, signature, where)
        return PythonTool(function, made, signature)

    return decorate


def python_tool(function: Callable[P, R], contract: Contract, where: str) -> PythonTool[P, R]:
    """Return a tool of a function that was written for a contract.

    Raises ContractError when the function does not take what the contract lets the model send.
    """
    signature = read_signature(function, where, contract.runtime_fields, contract.key_argument)
    schema = contract.parameters
    said = f"{where}: the contract {contract.name} ({contract.origin})"
    for name in schema["properties"]:
        if name not in signature.schema["properties"]:
            raise ContractError(
                f"{said} has the parameter {name!r}, which the function does not take"
                f"{nearest(name, signature.schema['properties'])}."
            )
    for name in signature.required:
        if name not in schema.get("required", ()):
            raise ContractError(
                f"{said} does not require {name!r}. Give the function's parameter a default, or list it "
                "as required in the contract."
            )
    for name, mark in signature.arguments.items():
        if not _says_the_same(contract, name, mark):
            raise ContractError(f"{said} does not say of {name!r} what its Argument mark says.")
    made = contract
    if signature.context is not None and signature.context not in contract.runtime_fields:
        made = sealed(replace(contract, runtime_fields=contract.runtime_fields | {signature.context}))
    _check_secrets(made, signature, where)
    return PythonTool(function, made, signature, contract.digest)


def _given(contract: "Contract | HasContract | str") -> Contract:
    if isinstance(contract, str):
        from gerbang.adapters.tools.contract_files import load_contract  # it makes tools of functions

        return load_contract(contract)
    found = contract if isinstance(contract, Contract) else getattr(contract, "contract", None)
    if not isinstance(found, Contract):
        raise ContractError("@tool(contract=...) takes a loaded contract, or the path of a file with one.")
    return found


def _listed(fields: ContractFields) -> tuple[str, ...]:
    """Return what `runtime_fields` lists; a generator is left to whoever reports it."""
    given: Any = fields.get("runtime_fields", ())
    if isinstance(given, str) or not isinstance(given, Iterable):
        return ()
    fields["runtime_fields"] = names = tuple(given)
    return names


def _with_marks(fields: ContractFields, signature: Signature, where: str) -> ContractFields:
    """Return the fields with the marks of the hints. What stands in both is refused."""
    arguments: Any = fields.get("arguments", {})
    if isinstance(arguments, Mapping):
        for name in arguments.keys() & signature.arguments.keys():
            raise ContractError(f"{where}: the argument {name!r} is described in its hint and in arguments.")
        fields["arguments"] = {**arguments, **signature.arguments}
    if signature.context is not None:
        fields["runtime_fields"] = (*fields.get("runtime_fields", ()), signature.context)
    return fields


def _says_the_same(contract: Contract, name: str, mark: Argument) -> bool:
    roles = {"control": contract.control, "content": contract.content}
    if mark.role is not None and name not in roles.get(mark.role, ()):
        return False
    if mark.sensitive and name not in contract.sensitive:
        return False
    kind = getattr(mark.resource, "kind", mark.resource)
    return kind is None or (name in contract.resources and contract.resources[name].kind == kind)


def _description(function: Callable[..., Any], given: Any, signature: Signature, where: str) -> str:
    text = describe_parameters(function, signature)
    shown = given if given is not None else text
    if not isinstance(shown, str) or not shown.strip():
        raise ContractError(f"{where}: the tool needs a docstring; it is what the model reads.")
    return shown


def describe_parameters(function: Callable[..., Any], signature: Signature) -> str:
    """Put what the docstring says of each parameter into the schema; return what it says of the tool."""
    text, fields = read_docstring(function)
    for field, about in fields.items():
        if field in signature.schema["properties"]:
            signature.schema["properties"][field].setdefault("description", about)
    return text


def _check_secrets(contract: Contract, signature: Signature, where: str) -> None:
    if contract.secrets and signature.context is None:
        raise ContractError(
            f"{where}: the tool names secrets but has no way to ask for them: add a parameter annotated "
            "CallContext, and call its secret(name)."
        )


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
