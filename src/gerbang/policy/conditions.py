"""The table of conditions that a rule may have, besides tool and class."""

from collections.abc import Mapping
from typing import Any, Final

from gerbang.policy.comparisons import MISSING, Test, comparison, texts
from gerbang.policy.condition import (
    Builder,
    Condition,
    Context,
    FactMissingError,
    Predicate,
    Read,
    flag,
    known,
    mapping_of,
    one_of,
    set_of,
)
from gerbang.policy.hours import window
from gerbang.policy.input import PROVENANCES, RISK_FACTS, PolicyInput
from gerbang.policy.sequence import sequence
from gerbang.policy.where import Where, short
from gerbang.values.pointer import steps


def _arguments(key: str, want: Any, where: Where, context: Context) -> list[Condition]:
    found = []
    for name, test in mapping_of(want, where, "argument names to a value or a comparison").items():
        below = where.at(name, f".{name[:80]}")
        path = argument_path(name)
        read = _digger(path)
        found.append(
            Condition(f"arguments.{name}", test, _argument(path, read, test, comparison(test, below)), read)
        )
    return found


def argument_path(name: str) -> list[str]:
    """Return the way to a nested argument: `a.b.0`, or a JSON Pointer for names that hold dots."""
    if name.startswith("/"):
        return steps(name)
    return name.split(".")


def _digger(path: list[str]) -> Read:
    if len(path) == 1:
        name = path[0]
        return lambda doc: doc.arguments.get(name, MISSING)
    return lambda doc: dig(doc.arguments, path)


def _argument(path: list[str], read: Read, want: Any, test: Test) -> Predicate:
    """Return the test of one argument; the commonest forms without a call in between."""
    if len(path) > 1:
        return lambda doc: test(read(doc))
    name = path[0]
    if type(want) is str:
        return lambda doc: bool(doc.arguments.get(name) == want)
    return lambda doc: test(doc.arguments.get(name, MISSING))


def dig(value: Any, path: list[str]) -> Any:
    """Return the value at the end of a path through objects and lists, or MISSING."""
    for part in path:
        if isinstance(value, Mapping):
            if part not in value:
                return MISSING
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and len(part) < 9 and int(part) < len(value):
            value = value[int(part)]
        else:
            return MISSING
    return value


def _facts(key: str, want: Any, where: Where, context: Context) -> list[Condition]:
    found = []
    for name, test in mapping_of(want, where, "fact names to a value or a comparison").items():
        below = where.at(name, f".{name[:80]}")
        if name not in context.facts:
            raise below.error(
                f"the fact is not declared. Add it to the policy's own list: 'facts: [{name}]'."
            )
        found.append(_fact(name, test, comparison(test, below)))
    return found


def _fact(name: str, want: Any, test: Test) -> Condition:
    def holds(doc: PolicyInput) -> bool:
        if name not in doc.facts:
            raise FactMissingError(name)
        return test(doc.facts[name])

    return Condition(f"facts.{name}", want, holds, lambda doc: doc.facts.get(name, MISSING))


def _risk_facts(key: str, want: Any, where: Where, context: Context) -> list[Condition]:
    """Build for risk facts: any of a list, or a mapping of names to true, false or what the fact says.

    Facts only tighten. A rule that allows may not rest on one: it may only ask that there is none.
    """
    found = []
    if not isinstance(want, dict):
        names = frozenset(texts(want, where))
        known(names, RISK_FACTS, "risk fact", where)
        found.append(
            Condition(key, want, lambda doc: any(risk_fact(doc, name) for name in names), _all_facts, True)
        )
    else:
        for name, test in mapping_of(want, where, "risk facts to true, false or a comparison").items():
            below = where.at(name, f".{name[:80]}")
            known([name], RISK_FACTS, "risk fact", below)
            found.append(_risk_fact(name, test, comparison(test, below)))
    if context.allows and any(condition.rests for condition in found):
        raise where.error("risk facts only tighten: a rule that allows may only ask for them to be false.")
    return found


def _risk_fact(name: str, want: Any, test: Test) -> Condition:
    def read(doc: PolicyInput) -> Any:
        return risk_fact(doc, name)

    if isinstance(want, bool):
        return Condition(f"risk_facts.{name}", want, lambda doc: bool(read(doc)) is want, read, want)
    try:
        rests = not test(False)
    except TypeError:  # made for texts or numbers: holds for no fact that is absent
        rests = True
    return Condition(f"risk_facts.{name}", want, lambda doc: test(read(doc)), read, rests)


def risk_fact(doc: PolicyInput, name: str) -> Any:
    """Return what a risk fact says of the call: from the runtime, from the contract, or False."""
    said = doc.risk_facts.get(name)
    if said:
        return said
    if name == "repaired_arguments" and doc.repaired:
        return True
    return doc.info is not None and name in doc.info.risk_facts


def _all_facts(doc: PolicyInput) -> list[str]:
    return [name for name in RISK_FACTS if risk_fact(doc, name)]


def _resources(key: str, want: Any, where: Where, context: Context) -> list[Condition]:
    """Build for the things that a call names: of a `kind`, and whose they are.

    `same`: there is at least one and all are the actor's tenant's. `other`: at least one is not known to be.
    """
    written = mapping_of(want, where, "'kind', 'tenant' or 'id'")
    for name in written:
        if name not in ("kind", "tenant", "id"):
            raise where.at(name, "").error(f"unknown field {short(name)}. Known: kind, tenant, id.")
    kinds = frozenset(texts(written["kind"], where.at("kind", ".kind"))) if "kind" in written else None
    tenant = written.get("tenant")
    if tenant is not None and tenant not in ("same", "other"):
        raise where.at("tenant", ".tenant").error("takes 'same' or 'other'.")
    ident = comparison(written["id"], where.at("id", ".id")) if "id" in written else None

    def holds(doc: PolicyInput) -> bool:
        named = [thing for thing in doc.resources if kinds is None or thing.kind in kinds]
        if not named or (ident is not None and not any(ident(thing.id) for thing in named)):
            return False
        own = all(thing.tenant == doc.actor.tenant for thing in named)
        return tenant is None or own is (tenant == "same")

    return [Condition(key, want, holds, lambda doc: [thing.as_dict() for thing in doc.resources])]


def _budget(key: str, want: Any, where: Where, context: Context) -> list[Condition]:
    """Build for what was used and what is left. Without a limit, more is left than any number."""
    found = []
    for name, test in mapping_of(want, where, "figures to a comparison").items():
        below = where.at(name, f".{name[:80]}")
        if name not in _FIGURES:
            raise below.error(f"unknown figure. Known: {', '.join(_FIGURES)}.")
        found.append(_figure(name, test, comparison(test, below)))
    return found


_FIGURES: Final[dict[str, Read]] = {
    "calls": lambda doc: doc.calls_before or doc.budget.calls,
    "calls_of_tool": lambda doc: doc.calls_of_tool,
    "calls_left": lambda doc: doc.budget.calls_left,
    "cost": lambda doc: doc.budget.cost,
    "cost_left": lambda doc: doc.budget.cost_left,
    "tokens": lambda doc: doc.budget.tokens,
    "tokens_left": lambda doc: doc.budget.tokens_left,
    "seconds_left": lambda doc: doc.budget.seconds_left,
}
_NO_LIMIT: Final = float("inf")


def _figure(name: str, want: Any, test: Test) -> Condition:
    read = _FIGURES[name]

    def holds(doc: PolicyInput) -> bool:
        value = read(doc)
        return test(_NO_LIMIT if value is None else value)

    return Condition(f"budget.{name}", want, holds, read)


def _taint(key: str, want: Any, where: Where, context: Context) -> list[Condition]:
    """Build for where values came from: `run`, `arguments` by name, and `control` for any that steers."""
    found = []
    for name, test in mapping_of(want, where, "'run', 'arguments' or 'control'").items():
        below = where.at(name, f".{name}")
        if name == "run":
            found += flag(lambda doc: doc.tainted_run)("taint.run", test, below, context)
        elif name == "control":
            found.append(_control(_provenances(test, below), test))
        elif name == "arguments":
            for argument, wanted in mapping_of(test, below, "argument names to provenances").items():
                found.append(
                    _provenance(
                        argument, _provenances(wanted, below.at(argument, f".{argument[:80]}")), wanted
                    )
                )
        else:
            raise below.error("unknown condition. Known: arguments, control, run.")
    return found


def _provenances(want: Any, where: Where) -> frozenset[str]:
    names = frozenset(texts(want, where))
    known(names, PROVENANCES, "provenance", where)
    return names


def _provenance(argument: str, wanted: frozenset[str], want: Any) -> Condition:
    def read(doc: PolicyInput) -> str | None:
        """Return the provenance. An argument that is there and that nothing is said of is unexplained."""
        taint = doc.taint.get(argument)
        if taint is not None:
            return taint.provenance
        return "unexplained" if argument in doc.arguments else None

    return Condition(f"taint.arguments.{argument}", want, lambda doc: read(doc) in wanted, read)


def _control(wanted: frozenset[str], want: Any) -> Condition:
    def read(doc: PolicyInput) -> list[str]:
        """Return the provenances. A control argument that nothing is said of is unexplained."""
        found: set[str] = {taint.provenance for taint in doc.taint.values() if taint.control}
        names = () if doc.info is None else doc.info.control
        if any(name in doc.arguments and name not in doc.taint for name in names):
            found.add("unexplained")
        for name in names:
            if name in doc.taint:
                found.add(doc.taint[name].provenance)
        return sorted(found)

    return Condition("taint.control", want, lambda doc: not wanted.isdisjoint(read(doc)), read)


def _history(key: str, want: Any, where: Where, context: Context) -> list[Condition]:
    return [
        Condition(name, written, ask) for name, written, ask in sequence(want, where, allows=context.allows)
    ]


def _time(key: str, want: Any, where: Where, context: Context) -> list[Condition]:
    """Build for a window of time; `outside: true` asks for the times outside it."""
    written = mapping_of(want, where, "'days', 'hours' and 'zone'")
    outside = written.get("outside", False)
    if not isinstance(outside, bool):
        raise where.at("outside", ".outside").error("takes true or false.")
    inside = window(
        {name: value for name, value in written.items() if name != "outside"}, where, context.zones
    )
    return [Condition(key, want, lambda doc: inside(doc.time) is not outside, lambda doc: doc.time)]


def _of_tool(name: str) -> Read:
    return lambda doc: None if doc.info is None else getattr(doc.info, name) or None


def _effect(doc: PolicyInput) -> str | None:
    effects = None if doc.info is None else doc.info.side_effects
    return None if effects is None else effects["kind"]


def _reversible(doc: PolicyInput) -> str | None:
    effects = None if doc.info is None else doc.info.side_effects
    return None if effects is None else effects["reversible"]


BUILDERS: Final[dict[str, Builder]] = {
    "group": one_of(_of_tool("group")),
    "data_class": one_of(_of_tool("data_class")),
    "defined_by": one_of(_of_tool("defined_by")),
    "effect": one_of(_effect),
    "reversible": one_of(_reversible),
    "user": one_of(lambda doc: doc.actor.user, lambda names: lambda doc: doc.actor.user in names),
    "tenant": one_of(lambda doc: doc.actor.tenant, lambda names: lambda doc: doc.actor.tenant in names),
    "agent": one_of(lambda doc: doc.actor.agent),
    "roles": set_of(
        lambda doc: doc.actor.roles, lambda names: lambda doc: not names.isdisjoint(doc.actor.roles)
    ),
    "scopes": set_of(
        lambda doc: doc.actor.scopes, lambda names: lambda doc: not names.isdisjoint(doc.actor.scopes)
    ),
    "purpose": one_of(lambda doc: doc.purpose, lambda names: lambda doc: doc.purpose in names),
    "intent": one_of(lambda doc: doc.intent, lambda names: lambda doc: doc.intent in names),
    "arguments": _arguments,
    "resources": _resources,
    "history": _history,
    "budget": _budget,
    "taint": _taint,
    "tainted_run": flag(lambda doc: doc.tainted_run),
    "facts": _facts,
    "risk_facts": _risk_facts,
    "time": _time,
    "repaired": flag(lambda doc: doc.repaired),
    "coerced": flag(lambda doc: doc.coerced),
}
