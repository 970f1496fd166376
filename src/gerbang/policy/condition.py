"""One condition of a rule, and how conditions over single fields are built."""

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct

from gerbang.policy.comparisons import MISSING, comparison, texts
from gerbang.policy.hours import Zones
from gerbang.policy.input import PolicyInput
from gerbang.policy.where import Where, short

Predicate = Callable[[PolicyInput], bool]
Read = Callable[[PolicyInput], Any]


class FactMissingError(LookupError):
    """A rule asks for a fact that was not resolved. The call is denied with POLICY_FACT_MISSING."""


class Context(Struct, frozen=True):
    """What the conditions of a rule depend on: what the rule does, which facts the policy declares."""

    allows: bool
    facts: frozenset[str]
    zones: Zones | None


class Condition(Struct, frozen=True):
    """One condition: its name in explanations, what was written, the test, and what it looks at.

    `rests` says that it holds only when a risk fact does.
    """

    name: str
    want: Any
    holds: Predicate
    read: Read | None = None
    rests: bool = False


Builder = Callable[[str, Any, Where, Context], list[Condition]]


Quick = Callable[[frozenset[str]], Predicate]
"""Makes the test of the commonest form of a condition with no call in between."""


def one_of(read: Read, quick: Quick | None = None) -> Builder:
    """Build for a field that holds one text or none: a text, a list of texts, or comparisons."""

    def build(key: str, want: Any, where: Where, context: Context) -> list[Condition]:
        if isinstance(want, dict):
            test = comparison(want, where)
            return [Condition(key, want, lambda doc: test(MISSING if read(doc) is None else read(doc)), read)]
        allowed = frozenset(texts(want, where))
        holds = (lambda doc: read(doc) in allowed) if quick is None else quick(allowed)
        return [Condition(key, want, holds, read)]

    return build


def set_of(read: Callable[[PolicyInput], Iterable[str]], quick: Quick) -> Builder:
    """Build for a field that holds a set of texts: any of them, or `{any_of, all_of, none_of}`."""

    def build(key: str, want: Any, where: Where, context: Context) -> list[Condition]:
        written = want if isinstance(want, dict) else {"any_of": want}
        if not written or not written.keys() <= {"any_of", "all_of", "none_of"}:
            raise where.error("takes a text, a list of texts, or {any_of: …, all_of: …, none_of: …}.")
        any_of, all_of_, none_of = (
            frozenset(texts(written[how], where)) if how in written else None
            for how in ("any_of", "all_of", "none_of")
        )

        def each(doc: PolicyInput) -> bool:
            has = frozenset(read(doc))
            return (
                (any_of is None or not any_of.isdisjoint(has))
                and (all_of_ is None or all_of_ <= has)
                and (none_of is None or none_of.isdisjoint(has))
            )

        only_any = any_of if all_of_ is None and none_of is None else None
        holds = each if only_any is None else quick(only_any)
        return [Condition(key, want, holds, lambda doc: sorted(read(doc)))]

    return build


def flag(read: Callable[[PolicyInput], bool]) -> Builder:
    """Build for a field that is true or false."""

    def build(key: str, want: Any, where: Where, context: Context) -> list[Condition]:
        if not isinstance(want, bool):
            raise where.error("takes true or false.")
        return [Condition(key, want, lambda doc: read(doc) is want, read)]

    return build


def mapping_of(want: Any, where: Where, what: str) -> dict[str, Any]:
    """Return a mapping that is not empty. `what` says of what, for the error."""
    if not isinstance(want, dict) or not want or not all(isinstance(name, str) for name in want):
        raise where.error(f"takes a mapping of {what}.")
    return want


def known(names: Iterable[str], there_are: Iterable[str], what: str, where: Where) -> None:
    """Raise MisplacedError for a name that is not among those that there are."""
    for name in names:
        if name not in there_are:
            raise where.error(f"{short(name)} is not a {what}. Known: {', '.join(there_are)}.")
