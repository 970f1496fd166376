"""`@tool`: hints and docstring become the contract; what cannot be one is refused at once."""

import asyncio
import dataclasses
import datetime
import enum
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import annotated_types
import msgspec
import pydantic
import pydantic.dataclasses
import pytest

from gerbang.adapters.tools.docstring import read_docstring
from gerbang.adapters.tools.python import PythonTool, tool
from gerbang.contract.catalogue import Catalogue
from gerbang.contract.check import check
from gerbang.contract.document import Argument
from gerbang.errors import ContractError, ToolError
from gerbang.values import LOCAL, CallContext, CallError, Principal, Proposal, ValidCall
from gerbang.values.contract_parts import ResourceRef

CONTEXT = CallContext(LOCAL, "r1", 1, "c1", "key")


class Colour(enum.Enum):
    RED = "red"


class Size(enum.IntEnum):
    BIG = 3


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Box(msgspec.Struct):
    width: int
    at: Point | None = None


@dataclasses.dataclass
class Spot:
    x: int
    n: Annotated[int, pydantic.Field(le=5)] = 0


class Named(NamedTuple):
    x: int
    n: Annotated[int, pydantic.Field(le=5)] = 0


@dataclasses.dataclass
class Tree:
    n: Annotated[int, annotated_types.Le(5)]
    under: "list[Tree]" = dataclasses.field(default_factory=list)


@pydantic.dataclasses.dataclass
class Checked:
    n: int = pydantic.Field(le=5)


class Person(pydantic.BaseModel):
    name: str
    age: int = pydantic.Field(ge=0, default=0)


def make(function: Callable[..., Any], **changes: Any) -> "PythonTool[..., Any]":
    function.__doc__ = function.__doc__ or "Does something."
    return tool(**{"name": "a.b.v1", "risk": "compute", **changes})(function)


def call(made: "PythonTool[..., Any]", arguments: dict[str, Any]) -> Any:
    """Check the arguments by the contract and run the tool; the error when they do not fit."""
    entry = next(iter(Catalogue([made.contract])))
    valid = check(entry, Proposal("r1", 1, 0, "c1", "a.b.v1", arguments))
    if isinstance(valid, CallError):
        return valid.error_code
    assert isinstance(valid, ValidCall)
    return made.invoke_sync(valid.arguments, CONTEXT)


def same(x: Any) -> Any:
    return x


def typed(kind: Any) -> "PythonTool[..., Any]":
    def function(x: Any) -> Any:
        return x

    function.__annotations__ = {"x": kind}
    return make(function)


@pytest.mark.parametrize(
    ("kind", "sent", "got"),
    [
        (int, 3, 3),
        (int, 3.0, 3),
        (int, "3", 3),
        (int, 3.5, "WRONG_TYPE"),
        (int, True, "WRONG_TYPE"),
        (float, 3, 3),
        (float, 2.5, 2.5),
        (str, "a", "a"),
        (str, 3, "WRONG_TYPE"),
        (bool, True, True),
        (bool, 1, "WRONG_TYPE"),
        (Any, {"a": 1}, {"a": 1}),
        (dict, {"a": 1}, {"a": 1}),
        (list, [1, "a"], [1, "a"]),
        (list[int], [1, 2.0], [1, 2]),
        (list[int], ["x"], "WRONG_TYPE"),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (dict[int, str], {"1": "a"}, {1: "a"}),
        (tuple[int, str], [1, "a"], (1, "a")),
        (set[int], [1, 2], {1, 2}),
        (int | None, None, None),
        (int | None, "4", 4),
        (int | None, 4.0, 4),
        (int | str, "4", "4"),
        (Literal["a", "b"], "a", "a"),
        (Literal["a", "b"], "c", "NOT_IN_ENUM"),
        (Colour, "red", Colour.RED),
        (Colour, "blue", "NOT_IN_ENUM"),
        (Size, 3, Size.BIG),
        (Annotated[int, msgspec.Meta(ge=1, le=5)], 5, 5),
        (Annotated[int, msgspec.Meta(ge=1, le=5)], 6, "OUT_OF_RANGE"),
        (Annotated[str, msgspec.Meta(max_length=2)], "abc", "TOO_LONG"),
        (datetime.date, "2026-01-02", datetime.date(2026, 1, 2)),
        (datetime.date, "soon", "BAD_FORMAT"),
        (Point, {"x": 1}, Point(1)),
        (Point, {"x": 1.0, "y": 2}, Point(1, 2)),
        (Point, {}, "MISSING_FIELD"),
        (Point, {"x": 1, "z": 1}, "EXTRA_FIELD"),
        (list[Point], [{"x": "1"}], [Point(1)]),
        (Box, {"width": 1, "at": {"x": 2}}, Box(1, Point(2))),
        (Box | None, None, None),
        (Person, {"name": "Ana", "age": 3}, Person(name="Ana", age=3)),
        (Person, {"name": "Ana"}, Person(name="Ana")),
        (Person, {"name": "Ana", "age": -1}, "OUT_OF_RANGE"),
        (Person, {"name": "Ana", "z": 1}, "EXTRA_FIELD"),
        (list[Person], [{"name": "Ana"}], [Person(name="Ana")]),
        (Person | None, None, None),
        (bytes, "aGk=", b"hi"),
        (Path, "a/b.txt", Path("a/b.txt")),
        (list[Path], ["a"], [Path("a")]),
        (Annotated[int, pydantic.Field(ge=1, le=5)], 5, 5),
        (Annotated[int, pydantic.Field(ge=1, le=5)], 9, "OUT_OF_RANGE"),
        (Annotated[int, pydantic.Field(ge=1)] | None, 0, "SCHEMA_MISMATCH"),
        (list[Annotated[str, pydantic.Field(max_length=2)]], ["abc"], "TOO_LONG"),
        (Annotated[int, annotated_types.Ge(1)], 0, "OUT_OF_RANGE"),
        (pydantic.PositiveInt, 0, "OUT_OF_RANGE"),
        (Spot, {"x": 1, "n": 5}, Spot(1, 5)),
        (Spot, {"x": 1, "n": 9}, "OUT_OF_RANGE"),
        (list[Spot], [{"x": 1, "n": 9}], "OUT_OF_RANGE"),
        (Named, [1, 9], "OUT_OF_RANGE"),
        (Tree, {"n": 1, "under": [{"n": 9}]}, "OUT_OF_RANGE"),
        (Checked, {"n": 9}, "OUT_OF_RANGE"),
        (Annotated[int, pydantic.AfterValidator(lambda n: n + 1)], 1, 2),
    ],
)
def test_kinds_of_parameters(kind: Any, sent: Any, got: Any) -> None:
    answer = call(typed(kind), {"x": sent})
    assert answer == got
    assert type(answer) is type(got) or kind is float


def test_hints_and_docstring_become_the_contract() -> None:
    def weather(
        city: str, *, days: int = 3, unit: Literal["C", "F"] = "C", context: CallContext
    ) -> dict[str, Any]:
        """Current weather for a city.

        Use for forecasts. Not for history.

        Args:
            city: Name of the city,
                note: in English.
            days (int): How many: at most ten.
            unknown: Not a parameter.

        Returns:
            One object a day.

        Raises:
            ToolError: never shown.
        """
        return {"city": city, "days": days, "unit": unit, "run": context.run_id}

    made = make(
        weather, risk="read_external", sensitive=["city"], natural_key=["city"], intents=["w"], cost_units=2
    )
    contract = made.contract
    assert contract.description == (
        "Current weather for a city. Use for forecasts. Not for history. Returns One object a day."
    )
    assert contract.parameters == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Name of the city, note: in English."},
            "days": {
                "type": "integer",
                "default": 3,
                "description": "How many: at most ten.",
            },
            "unit": {"enum": ["C", "F"], "default": "C"},
        },
        "required": ["city"],
        "additionalProperties": False,
    }
    assert contract.runtime_fields == {"context"}
    assert (contract.risk, contract.natural_key, contract.cost_units) == ("read_external", ("city",), 2.0)
    assert call(made, {"city": "Paris"}) == {"city": "Paris", "days": 3, "unit": "C", "run": "r1"}
    assert call(made, {"city": "Paris", "context": {"run_id": "x"}}) == "RUNTIME_OWNED_FIELD"
    assert (getattr(made, "__name__", ""), repr(made), made.blocking) == ("weather", "<tool a.b.v1>", True)
    assert made("Oslo", context=CONTEXT)["city"] == "Oslo"


GOOGLE = """Forecast for a city.

    Use for forecasts.

    Args:
        city: Name of the city,
            in English.
        days (int): How many: at most ten.

    Returns:
        Text.

    Raises:
        ToolError: never shown.
"""
NUMPY = """Forecast for a city.

    Use for forecasts.

    Parameters
    ----------
    city : str
        Name of the city,
        in English.
    days : int, optional
        How many: at most ten.

    Returns
    -------
    str
        Text.

    Raises
    ------
    ToolError
        never shown.
"""
SPHINX = """Forecast for a city.

    Use for forecasts.

    :param city: Name of the city,
        in English.
    :type city: str
    :param int days: How many: at most ten.
    :returns: Text.
    :rtype: str
    :raises ToolError: never shown.
"""


@pytest.mark.parametrize("doc", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_every_form_of_docstring_says_the_same(doc: str) -> None:
    def forecast(city: str, days: int = 3) -> str:
        return f"{city} {days}"

    forecast.__doc__ = doc
    contract = make(forecast).contract
    assert contract.description == "Forecast for a city. Use for forecasts. Returns Text."
    assert {name: about["description"] for name, about in contract.parameters["properties"].items()} == {
        "city": "Name of the city, in English.",
        "days": "How many: at most ten.",
    }


@pytest.mark.parametrize(
    ("doc", "text", "fields"),
    [
        ("Sums.\n\nNotes\n-----\nExact.", "Sums. Notes: Exact.", {}),
        ("Sums.\n\nParameters\n----------\na, b : int\n    Terms.", "Sums.", {"a": "Terms.", "b": "Terms."}),
        ("Sums: a + b.\n\n:param a: One.\n\nUse it.", "Sums: a + b. Use it.", {"a": "One."}),
        ("Sums.\n\n:note: kept", "Sums. :note: kept", {}),
        (
            "Sums.\n\nArgs:\n    *a: One.\n    two words: kept with it",
            "Sums.",
            {"a": "One. two words: kept with it"},
        ),
        ("Sums.\n\n--\n\nUse it.", "Sums. -- Use it.", {}),
    ],
)
def test_what_a_docstring_says(doc: str, text: str, fields: dict[str, str]) -> None:
    def function() -> None: ...

    function.__doc__ = doc
    assert read_docstring(function) == (text, fields)


def test_hints_describe_parameters() -> None:
    def function(
        city: Annotated[str, "Name of the city."],
        days: Annotated[int, pydantic.Field(ge=1, description="How many.")] = 3,
        size: Annotated[int, msgspec.Meta(description="How big.")] = 1,
        colour: Colour = Colour.RED,
    ) -> None:
        """Does something.

        Args:
            city: not this one.
        """

    properties = make(function).contract.parameters["properties"]
    assert [properties[name].get("description") for name in properties] == [
        "Name of the city.",
        "How many.",
        "How big.",
        None,
    ]
    assert [properties[name].get("default") for name in properties] == [None, 3, 1, "red"]


class Thing:
    def __call__(self, x: int) -> int:
        """Does something."""
        return x

    def method(self, x: int) -> int:
        """Does something."""
        return x + 1


def test_a_method_is_a_function_and_an_object_is_none() -> None:
    assert call(tool(name="a.b.v1", risk="compute")(Thing().method), {"x": 1}) == 2
    for thing in (Thing(), functools.partial(good, 1)):
        with pytest.raises(ContractError, match="@tool takes a function or a method; write one that calls"):
            tool(name="a.b.v1", risk="compute", description="Does.")(thing)


@pytest.mark.parametrize("kind", [CallContext, CallContext | None, Annotated[CallContext, "filled in"]])
def test_the_context_is_filled_by_the_runtime(kind: Any) -> None:
    made = typed(kind)
    assert made.contract.parameters["properties"] == {}
    assert made.contract.runtime_fields == {"x"}
    assert call(made, {}) is CONTEXT


def test_an_async_tool() -> None:
    async def twice(n: int) -> int:
        await asyncio.sleep(0)
        return 2 * n

    made = make(twice)
    assert made.blocking is False
    assert asyncio.run(made.invoke({"n": 4}, CONTEXT)) == 8


class Sealed:
    pass


@dataclasses.dataclass
class Inside:
    who: Principal


def no_hint(x) -> None: ...  # type: ignore[no-untyped-def]
def var_args(*x: int) -> None: ...
def var_kwargs(**x: int) -> None: ...
def positional(x: int, /) -> None: ...
def unknown_hint(x: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821
def broken_hint(x: int) -> None: ...
def missing_attribute(x: "datetime.nothing") -> None: ...  # type: ignore[name-defined]
def no_schema(x: Sealed) -> None: ...
def field_default(x: int = pydantic.Field(3, ge=1)) -> None: ...
def principal_inside(x: Inside) -> None: ...
def two_contexts(x: CallContext, y: CallContext) -> None: ...
def takes_principal(x: Principal) -> None: ...
def takes_principals(x: list[Principal]) -> None: ...
def nested_context(x: list[CallContext]) -> None: ...
def good(x: int) -> None: ...
def marked(
    to: Annotated[str, Argument("control", sensitive=True, resource="person")],
    text: Annotated[str | None, msgspec.Meta(description="What to say."), Argument("content")] = None,
) -> None: ...
def two_marks(x: Annotated[int, Argument("control"), Argument(sensitive=True)]) -> None: ...
def wrong_role(x: Annotated[int, Argument("contrl")]) -> None: ...
def runtime_role(x: Annotated[int, Argument("runtime")]) -> None: ...
def nan_default(x: float = float("nan")) -> None: ...


broken_hint.__annotations__["x"] = "1 +"


@pytest.mark.parametrize(
    ("function", "changes", "says"),
    [
        (no_hint, {}, "parameter 'x' needs a type hint"),
        (var_args, {}, "parameter 'x' must be an ordinary named parameter"),
        (var_kwargs, {}, "must be an ordinary named parameter"),
        (positional, {}, "must be an ordinary named parameter"),
        (unknown_hint, {}, "a type hint cannot be resolved"),
        (broken_hint, {}, "a type hint cannot be resolved"),
        (missing_attribute, {}, "a type hint cannot be resolved"),
        (no_schema, {}, "parameter 'x': the type Sealed has no JSON Schema"),
        (field_default, {}, "parameter 'x': write Annotated[TYPE, Field(...)] as its hint"),
        (principal_inside, {}, "who calls is never the model's to say"),
        (two_contexts, {}, "only one parameter can be a CallContext"),
        (takes_principal, {}, "who calls is never the model's to say"),
        (takes_principals, {}, "who calls is never the model's to say"),
        (nested_context, {}, "who calls is never the model's to say"),
        (nan_default, {}, "not JSON"),
        (two_marks, {}, "parameter 'x' has two Argument marks; put them into one"),
        (
            wrong_role,
            {},
            "arguments.x.role: must be one of content, control, runtime",
        ),
        (runtime_role, {}, "parameter 'x': list what the runtime fills in runtime_fields"),
        (marked, {"arguments": {"to": {}}}, "the argument 'to' is described in its hint and in arguments"),
        (
            good,
            {"runtime_fields": ["x"]},
            "nothing fills the runtime's parameter 'x'. Known by name:",
        ),
        (good, {"runtime_fields": "x"}, "runtime_fields: must be a list of words, not 'x'"),
        (good, {"arguments": {"x": {"sensitiv": True}}}, "arguments.x.sensitiv: unknown field (did you mean"),
        (good, {"timout_s": 3}, "timout_s: unknown field (did you mean timeout_s?)"),
        (good, {"name": "a b"}, "is not a tool name"),
        (good, {"risk": "safe"}, "destructive, not 'safe'"),
        (good, {"risk": None}, "risk: must be one of compute"),
        (good, {"description": "  "}, "the tool needs a docstring"),
        (good, {"description": 5}, "the tool needs a docstring"),
        (good, {"sensitive": ["y"]}, "sensitive names 'y'"),
        (good, {"timeout_s": 0}, "timeout_s"),
    ],
)
def test_what_cannot_be_a_tool(function: Callable[..., Any], changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ContractError) as caught:
        make(function, **changes)
    assert says in str(caught.value)
    assert function.__name__ in str(caught.value)


@pytest.mark.parametrize("doc", [None, "", "   ", "\n    Args:\n        x: only this.\n"])
def test_a_docstring_is_needed(doc: str | None) -> None:
    def function(x: int) -> int:
        return x

    function.__doc__ = doc
    with pytest.raises(ContractError, match="the tool needs a docstring"):
        tool(name="a.v1", risk="compute")(function)


def test_two_types_of_one_name() -> None:
    def inner() -> Any:
        class Point(pydantic.BaseModel):
            z: str

        return Point

    other = inner()

    def function(x: Any, y: Any) -> None:
        """Does something."""

    function.__annotations__ = {"x": list[Point], "y": list.__class_getitem__(other)}
    with pytest.raises(ContractError, match="two different types are called 'Point'"):
        make(function)


def test_a_value_that_only_its_type_refuses_runs_nothing() -> None:
    class Even(pydantic.BaseModel):
        n: int

        @pydantic.field_validator("n")
        @classmethod
        def check(cls, n: int) -> int:
            if n % 2:
                raise ValueError("must be even")
            return n

    made = typed(Even)
    assert call(made, {"x": {"n": 2}}) == Even(n=2)
    with pytest.raises(ToolError, match=r"The value of 'x' cannot be used: .*must be even") as caught:
        call(made, {"x": {"n": 987_654_321}})
    assert (caught.value.code, caught.value.effect, caught.value.recoverable) == ("BAD_VALUE", "none", True)
    assert "987654321" not in str(caught.value)


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ContractError, match="Two tools are called"):
        Catalogue([make(good).contract, make(same_name).contract])


def same_name(x: int) -> None: ...


def test_marks_of_arguments() -> None:
    made = make(marked).contract
    assert [sorted(names) for names in (made.control, made.content, made.sensitive)] == [
        ["to"],
        ["text"],
        ["to"],
    ]
    assert made.resources == {"to": ResourceRef("person")}
    assert made.parameters["properties"]["text"]["description"] == "What to say."
    plain = make(marked, arguments={}).contract
    assert plain.digest == made.digest


def test_the_runtime_fills_by_name() -> None:
    def body(x: int, tenant: str, user: str, key: str, run_id: str) -> list[object]:
        return [x, tenant, user, key, run_id]

    made = make(body, runtime_fields=["tenant", "user", "run_id"], key_argument="key")
    assert list(made.contract.parameters["properties"]) == ["x"]
    assert made.contract.runtime_fields == {"tenant", "user", "run_id", "key"}
    context = CallContext(Principal("ana", "acme"), "r1", 1, "c1", "k1")
    assert made.invoke_sync({"x": 1}, context) == [1, "acme", "ana", "k1", "r1"]


def test_one_decorator_makes_many_tools() -> None:
    decorate = tool(name="a.v1", risk="compute", description="Does it.", runtime_fields=iter(["tenant"]))

    def first(tenant: str) -> None: ...
    def second(tenant: str) -> None: ...

    assert decorate(first).contract.digest == decorate(second).contract.digest


@pytest.mark.parametrize("given", [print, "weather.get_current.v1", None])
def test_a_tool_is_made_by_keywords(given: Any) -> None:
    bare: Any = tool
    with pytest.raises(ContractError, match=r"write @tool\(name="):
        bare(given)
