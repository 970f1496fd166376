"""Which tools a run may know of, versions side by side, retirement, and definitions that have changed."""

import itertools
from typing import Any

import pytest

from gerbang.contract.catalogue import Catalogue
from gerbang.contract.check import unknown_tool
from gerbang.contract.shown import full_spec
from gerbang.contract.versions import group_of, versioned
from gerbang.values import RiskClass

from .helpers import contract


def make(name: str, **fields: Any) -> Any:
    return contract(name=name, **fields)


ALL = Catalogue(
    [
        make("open.v1"),
        make("pay.v1", risk="transactional", expose={"intents": ["pay"]}),
        make("close.v1", risk="write_internal", expose={"states": ["draft", "review"]}),
        make("acme.v1", expose={"tenants": ["acme"]}),
        make("wipe.v1", risk="destructive", expose={"roles": ["admin", "operator"], "intents": ["clean"]}),
        make("scoped.v1", expose={"scopes": ["reports"]}),
    ]
)


@pytest.mark.parametrize(
    ("run", "names"),
    [
        ({}, "open"),
        ({"intent": "pay"}, "open pay"),
        ({"intent": "other"}, "open"),
        ({"state": "draft"}, "open close"),
        ({"state": "review", "intent": "pay"}, "open pay close"),
        ({"tenant": "acme"}, "open acme"),
        ({"tenant": "acme "}, "open"),
        ({"roles": ["admin"]}, "open"),
        ({"roles": ["admin"], "intent": "clean"}, "open wipe"),
        ({"roles": {"operator", "clerk"}, "intent": "clean"}, "open wipe"),
        ({"roles": {"clerk"}, "intent": "clean"}, "open"),
        ({"scopes": {"reports", "mail"}}, "open scoped"),
        ({"scopes": {"report"}}, "open"),
        ({"intent": "pay", "max_risk": RiskClass.TRANSACTIONAL}, "open pay"),
        ({"intent": "pay", "max_risk": RiskClass.CODE_EXECUTION}, "open"),
        ({"intent": "pay", "max_risk": RiskClass.COMPUTE}, ""),
        ({"roles": ["admin"], "intent": "clean", "max_risk": RiskClass.TRANSACTIONAL}, "open"),
    ],
)
def test_what_a_run_may_know_of(run: dict[str, Any], names: str) -> None:
    subset = ALL.subset(**run)
    shown = [f"{name}.v1" for name in names.split()]
    assert list(subset.names) == shown
    assert len(subset) == len(shown)
    assert [entry.contract.name for entry in subset] == shown
    assert [spec.name for spec in subset.specs] == shown
    assert [item["name"] for item in subset.schemas if "." in item["name"]] == shown
    for name in ALL.names:
        for said in (name, name.replace(".", "__")):
            assert (subset.find(said) is not None) == (name in shown)
        assert subset.missing(name) is None
        if name not in shown:
            error = unknown_tool(subset, name)
            assert error.error_code == "TOOL_UNKNOWN"
            assert isinstance(error.available, tuple)
            assert set(error.available) <= set(shown)


def test_a_subset_is_found_again_and_shared_by_runs_that_see_the_same() -> None:
    assert ALL.subset(intent="pay") is ALL.subset(intent="pay", tenant="nobody", roles=["clerk"])
    assert ALL.subset(intent="pay") is not ALL.subset()
    whole = Catalogue([make("a.v1"), make("b.v1")])
    assert whole.subset(intent="x", tenant="y", roles=["z"]) is whole
    assert whole.subset(max_risk=RiskClass.DESTRUCTIVE) is whole
    limited = Catalogue([make("a.v1", expose={"tenants": ["acme"]})])
    assert limited.subset(tenant="acme") is limited


def test_subsets_of_subsets_only_hide_more() -> None:
    assert ALL.subset(intent="pay").subset(state="draft").names == ("open.v1",)


def test_remembered_subsets_are_bounded() -> None:
    many = Catalogue(make(f"t{n}.v1", expose={"tenants": [f"tenant{n}"]}) for n in range(300))
    for n in range(300):
        assert many.subset(tenant=f"tenant{n}").names == (f"t{n}.v1",)
    big = Catalogue(make(f"t{n}.v1", intents=["a"]) for n in range(3))
    for n, m in itertools.product(range(40), range(40)):
        assert len(big.subset(intent=f"i{n}", state=f"s{m}")) == 0
    assert len(big._subsets) == 1


VERSIONS = Catalogue(
    [
        make("mail.send.v1", retired=True, replaced_by="mail.send.v2"),
        make("mail.send.v2", retired=True, replaced_by="mail.send.v3"),
        make("mail.send.v3", deprecated=True, replaced_by="mail.send.v10"),
        make("mail.send.v10"),
        make("mail.old.v1", retired=True),
        make("mail.secret.v1", retired=True, replaced_by="mail.hidden.v2", expose={"intents": ["x"]}),
        make("mail.gone.v1", retired=True, replaced_by="mail.hidden.v2"),
        make("mail.hidden.v2", expose={"intents": ["x"]}),
        make("loop.a.v1", retired=True, replaced_by="loop.b.v1"),
        make("loop.b.v1", retired=True, replaced_by="loop.a.v1"),
    ]
)


@pytest.mark.parametrize(
    ("name", "code", "available", "fix"),
    [
        ("mail.send.v1", "TOOL_RETIRED", ("mail.send.v3",), "Use mail.send.v3 instead."),
        ("mail__send__v2", "TOOL_RETIRED", ("mail.send.v3",), "Use mail.send.v3 instead."),
        ("mail.old.v1", "TOOL_RETIRED", (), "Use one of the listed tools."),
        ("mail.gone.v1", "TOOL_RETIRED", (), "Use one of the listed tools."),
        ("loop.a.v1", "TOOL_RETIRED", (), "Use one of the listed tools."),
        ("mail.secret.v1", "TOOL_UNKNOWN", None, None),
        ("mail.send.v4", "TOOL_UNKNOWN", None, None),
    ],
)
def test_a_retired_version_names_what_may_be_used(
    name: str, code: str, available: tuple[str, ...] | None, fix: str | None
) -> None:
    subset = VERSIONS.subset()
    assert subset.find(name) is None
    error = unknown_tool(subset, name)
    assert (error.error_type, error.error_code, error.recoverable) == ("unknown_tool", code, True)
    if fix is not None:
        assert (error.available, error.suggested_fix) == (available, fix)
    assert "hidden" not in str(error)


def test_versions_stand_side_by_side_and_retired_ones_are_not_shown() -> None:
    assert VERSIONS.names == ("mail.send.v3", "mail.send.v10", "mail.hidden.v2")
    assert VERSIONS.versions("mail.send.v1") == ("mail.send.v3", "mail.send.v10")
    assert VERSIONS.versions("mail.send") == ("mail.send.v3", "mail.send.v10")
    assert VERSIONS.groups == {"mail": ("mail.send.v3", "mail.send.v10", "mail.hidden.v2")}
    assert VERSIONS.subset().groups == {"mail": ("mail.send.v3", "mail.send.v10")}


def test_a_changed_definition_cannot_be_called_and_says_so() -> None:
    held = ALL.without(["open.v1", "pay.v1", "not.here.v1"])
    assert held.find("open.v1") is None
    assert "open.v1" not in held.names
    error = unknown_tool(held.subset(), "open.v1")
    assert (error.error_type, error.error_code, error.recoverable) == (
        "permission_denied",
        "TOOL_CHANGED",
        False,
    )
    assert unknown_tool(held.subset(), "pay.v1").error_code == "TOOL_UNKNOWN"  # this run may not know of it
    assert unknown_tool(held.subset(intent="pay"), "pay.v1").error_code == "TOOL_CHANGED"
    assert ALL.find("open.v1") is not None
    assert held.without([]).find("open.v1") is not None
    assert VERSIONS.without(["mail.send.v3"]).subset().missing("mail.send.v1").successor == "mail.send.v10"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "base", "version", "group"),
    [
        ("weather.get_current.v1", "weather.get_current", 1, "weather"),
        ("github.pulls.create.v12", "github.pulls.create", 12, "github.pulls"),
        ("calculate", "calculate", None, "calculate"),
        ("calculate.v2", "calculate", 2, "calculate"),
        ("a.b", "a.b", None, "a"),
        ("a.v", "a.v", None, "a"),
        ("a.v01", "a.v01", None, "a"),
        ("a.vx", "a.vx", None, "a"),
        ("a.V1", "a.V1", None, "a"),
        ("a.v\u0663", "a.v\u0663", None, "a"),
    ],
)
def test_names_taken_apart(name: str, base: str, version: int | None, group: str) -> None:
    assert versioned(name) == (base, version)
    assert group_of(name) == group


def test_a_group_of_its_own_is_kept() -> None:
    assert make("a.b.v1", group="billing").group == "billing"
    assert make("a.b.v1", group="a").digest == make("a.b.v1").digest


ADVICE = {
    "when_to_use": "the user names a city",
    "when_not": "Forecasts.",
    "effect": "None",
    "returns_text": "Degrees.",
    "limits": "One city\n a call",
    "alternatives": ["weather.forecast.v1", "weather.secret.v1"],
    "nudge": "Call it once.",
}


def test_what_a_model_is_told() -> None:
    catalogue = Catalogue(
        [
            make("weather.now.v1", guidance=ADVICE, deprecated=True, replaced_by="weather.now.v2"),
            make("weather.now.v2"),
            make("weather.forecast.v1"),
            make("weather.secret.v1", intents=["x"]),
        ]
    )
    told = catalogue.subset().specs[0].description
    assert told == (
        "Opens a box.\nUse when: the user names a city. Not for: Forecasts. Effect: None. Returns: Degrees. "
        "Limits: One city a call. Instead: weather.forecast.v1. Deprecated; use: weather.now.v2. "
        "Call it once."
    )
    assert "weather.secret.v1" in catalogue.subset(intent="x").specs[0].description
    indonesian = catalogue.subset().specs_in("id")[0].description
    assert indonesian.startswith("Opens a box.\nPakai bila: the user names a city. Bukan untuk: Forecasts.")
    assert catalogue.subset().specs_in("en") is catalogue.subset().specs
    entry = catalogue.find("weather.now.v2")
    assert entry is not None
    assert full_spec(entry.spec, entry.contract, catalogue.find, "en") is entry.spec
