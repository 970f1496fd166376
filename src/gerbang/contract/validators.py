"""The semantic validators that ship. Options are checked when a contract is bound to a gateway."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from gerbang.contract.semantic import Finding, Options, ReadAsked, SemanticFacts, SemanticValidator
from gerbang.values.instant import seconds_of
from gerbang.values.pointer import MISSING, at
from gerbang.values.sentences import Param, field

_DAY: Final = 86_400.0
_CODE: Final = re.compile("[A-Z][A-Z0-9_]{0,63}")


def _found(code: str, arguments: tuple[str, ...], entry: str, **params: Param) -> Finding:
    """Return a finding in the words of the table of sentences."""
    made = field("", code, entry, **params)
    return Finding(code, arguments, made.message, made.said, made.params)


def _differs(options: Options, facts: SemanticFacts) -> Iterator[Finding]:
    """`arguments: [a, b]`: no two of them may be equal. `code` names the finding (SAME_BRANCH)."""
    names = tuple(options["arguments"])
    given = [(name, facts.arguments[name]) for name in names if name in facts.arguments]
    for index, (name, value) in enumerate(given):
        for other, twin in given[:index]:
            if value == twin and type(value) is type(twin):
                code = options.get("code", "SAME_BRANCH" if "branch" in name + other else "SAME_VALUE")
                yield _found(code, (other, name), "differs", one=other, other=name)


def _bounds(options: Options, facts: SemanticFacts) -> Iterator[Finding]:
    """`argument`, `min`, `max`: a number within bounds; `min_of`, `max_of` name other arguments."""
    name = options["argument"]
    value = facts.arguments.get(name)
    if value is None:
        return
    if not _number(value):
        yield _found("OUT_OF_RANGE", (name,), "no_number", name=name)
        return
    low, high = _limit(options, facts, "min"), _limit(options, facts, "max")
    if low is not None and value < low:
        yield _found("OUT_OF_RANGE", (name,), "at_least", name=name, limit=low)
    if high is not None and value > high:
        yield _found("OUT_OF_RANGE", (name,), "at_most", name=name, limit=high)


def _limit(options: Options, facts: SemanticFacts, which: str) -> float | int | None:
    fixed: Any = options.get(which)
    other = facts.arguments.get(options.get(f"{which}_of", ""))
    values: list[Any] = [value for value in (fixed, other) if _number(value)]
    if not values:
        return None
    limit: float | int = max(values) if which == "min" else min(values)
    return limit


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _dates(options: Options, facts: SemanticFacts) -> Iterator[Finding]:
    """Check that `arguments` (RFC 3339 dates or times, in rising order) are sane.

    `past: false` and `future: false` refuse one side of now; `max_days` bounds the distance from now.
    """
    former: tuple[str, float] | None = None
    for name in options["arguments"]:
        text = facts.arguments.get(name)
        if text is None:
            continue
        at = seconds_of(text) if isinstance(text, str) else None
        if at is None:
            yield _found("BAD_DATE", (name,), "date_form", name=name)
            continue
        if options.get("past") is False and at < facts.now - (_DAY if len(text) == 10 else 0):
            yield _found("BAD_DATE", (name,), "date_past", name=name)
        if options.get("future") is False and at > facts.now:
            yield _found("BAD_DATE", (name,), "date_future", name=name)
        days = options.get("max_days")
        if days is not None and abs(at - facts.now) > days * _DAY:
            yield _found("BAD_DATE", (name,), "date_far", name=name, days=days)
        if former is not None and at < former[1]:
            yield _found("BAD_DATE", (former[0], name), "date_before", name=name, former=former[0])
        former = (name, at)


def _transition(options: Options, facts: SemanticFacts) -> Iterator[Finding]:
    """`to` names the argument with the new state, `reader` (or `from`) gives the present one, `table`
    maps each state to those that may follow.
    """
    name = options["to"]
    target = facts.arguments.get(name)
    if target is None:
        return
    present = _present(options, facts)
    if present is None:
        yield _found("NOT_FOUND", tuple(options.get("subject", ())), "no_thing")
        return
    allowed = options["table"].get(present, ())
    if target not in allowed:
        yield _found(
            "ILLEGAL_TRANSITION",
            (name,),
            "transition" if allowed else "no_transition",
            present=_short(present),
            known=", ".join(map(str, allowed)),
            target=_short(target),
        )


def _present(options: Options, facts: SemanticFacts) -> Any:
    if "from" in options:
        return facts.arguments.get(options["from"])
    return value_at(facts.reads[_asked(options)[0]], options.get("path", ""))


def _exists(options: Options, facts: SemanticFacts) -> Iterator[Finding]:
    """`reader` and `subject` (arguments): what the reader finds must not be null."""
    if value_at(facts.reads[_asked(options)[0]], options.get("path", "")) is None:
        names = tuple(options["subject"])
        given = ", ".join(f"{name} {_short(facts.arguments.get(name))}" for name in names)
        yield _found("NOT_FOUND", names, "no_such", given=given)


def _version(options: Options, facts: SemanticFacts) -> Iterator[Finding]:
    """`argument` holds the version that the model has read; the `reader` gives the present one."""
    name = options["argument"]
    given = facts.arguments.get(name)
    present = value_at(facts.reads[_asked(options)[0]], options.get("path", ""))
    if present is None:
        yield _found("NOT_FOUND", tuple(options["subject"]), "no_thing")
    elif given != present or type(given) is not type(present):
        yield _found("STALE_SNAPSHOT", (name,), "old_version", name=name)


def _fresh_snapshot(options: Options, facts: SemanticFacts) -> Iterator[Finding]:
    """One of the tools `read_by` must have read the same thing (`same`: arguments that must be equal) in
    this run, at most `within_s` seconds ago.
    """
    same = tuple(options.get("same", ()))
    for seen in facts.seen:
        if seen.tool not in options["read_by"]:
            continue
        if any(seen.arguments.get(name) != facts.arguments.get(name) for name in same):
            continue
        if facts.now - seen.at <= options.get("within_s", float("inf")):
            return
    yield _found("STALE_SNAPSHOT", same, "unread", wanted="|".join(options["read_by"]))


def _evidence(options: Options, facts: SemanticFacts) -> Iterator[Finding]:
    """`argument` lists ids of earlier calls (or their records) of this run that succeeded, `min` of them;
    `from` limits the tools that count.
    """
    name = options["argument"]
    given = facts.arguments.get(name)
    ids = given if isinstance(given, list) else [] if given is None else [given]
    tools = options.get("from")
    known = {
        word: seen.call_id
        for seen in facts.seen
        if tools is None or seen.tool in tools
        for word in (seen.call_id, seen.event_id)
        if word
    }
    unknown = [str(item)[:80] for item in ids if not isinstance(item, str) or item not in known]
    if unknown:
        yield _found("NO_EVIDENCE", (name,), "no_call", names=", ".join(unknown[:5]))
    elif len({known[item] for item in ids}) < options.get("min", 1):  # each call counts once
        yield _found("NO_EVIDENCE", (name,), "no_reason", name=name)


def _goal(options: Options, facts: SemanticFacts) -> Iterator[Finding]:
    """The call must serve the declared goal: `purposes` or `intents` that it is for."""
    for word, value in (("purposes", facts.purpose), ("intents", facts.intent)):
        allowed = options.get(word)
        if allowed is not None and value not in allowed:
            yield _found("OFF_GOAL", (), "off_goal")
            return


def _asked(options: Options) -> tuple[ReadAsked, ...]:
    return (ReadAsked(options["reader"], tuple(options.get("subject", ()))),)


def _asked_if_any(options: Options) -> tuple[ReadAsked, ...]:
    return _asked(options) if "reader" in options else ()


def _watched(options: Options) -> tuple[str, ...]:
    return tuple(options["read_by"])


def _watched_from(options: Options) -> tuple[str, ...]:
    return tuple(options.get("from", ("*",)))


def value_at(value: Any, path: str) -> Any:
    """Return what a JSON Pointer leads to, None when it leads nowhere."""
    found = at(value, path)
    return None if found is MISSING else found


def _short(value: Any) -> str:
    return repr(value)[:80]


SHIPPED: Final[Mapping[str, SemanticValidator]] = {
    validator.name: validator
    for validator in (
        SemanticValidator("differs", _differs),
        SemanticValidator("bounds", _bounds),
        SemanticValidator("dates", _dates),
        SemanticValidator("transition", _transition, _asked_if_any),
        SemanticValidator("exists", _exists, _asked),
        SemanticValidator("version", _version, _asked),
        SemanticValidator("fresh_snapshot", _fresh_snapshot, watches=_watched),
        SemanticValidator("evidence", _evidence, watches=_watched_from),
        SemanticValidator("goal", _goal),
    )
}
"""The validators that every gateway knows, by name."""

_LISTS: Final = {"arguments", "subject", "read_by", "same", "from", "purposes", "intents"}
_TAKES: Final[Mapping[str, tuple[frozenset[str], frozenset[str]]]] = {
    "differs": (frozenset({"arguments"}), frozenset({"code"})),
    "bounds": (frozenset({"argument"}), frozenset({"min", "max", "min_of", "max_of"})),
    "dates": (frozenset({"arguments"}), frozenset({"past", "future", "max_days"})),
    "transition": (frozenset({"to", "table"}), frozenset({"from", "reader", "subject", "path"})),
    "exists": (frozenset({"reader", "subject"}), frozenset({"path"})),
    "version": (frozenset({"argument", "reader", "subject"}), frozenset({"path"})),
    "fresh_snapshot": (frozenset({"read_by"}), frozenset({"same", "within_s"})),
    "evidence": (frozenset({"argument"}), frozenset({"min", "from"})),
    "goal": (frozenset(), frozenset({"purposes", "intents"})),
}
"""Which options each shipped validator must and may have."""


def wrong_options(name: str, options: Options, fields: Mapping[str, Any]) -> str:
    """Return what is wrong with a shipped validator's options in a contract; empty when nothing is.

    `fields` are the parameters of the tool: options that name arguments must name some of them.
    """
    takes = _TAKES.get(name)
    if takes is None:
        return ""
    needed, more = takes
    for option in sorted(needed - options.keys()):
        return f"needs the option {option!r}"
    for option in options:
        if option not in needed | more:
            return f"has no option {option!r}; it knows {', '.join(sorted(needed | more))}"
    if name == "transition" and ("from" in options) == ("reader" in options):
        return "needs either 'from' or 'reader'"
    if name == "goal" and not options:
        return "needs 'purposes' or 'intents'"
    return _wrong_values(name, options, fields)


def _wrong_values(name: str, options: Options, fields: Mapping[str, Any]) -> str:
    for option, value in options.items():
        is_list = option in _LISTS and not (name == "transition" and option == "from")
        if is_list and not (isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)):
            return f"takes a list of names for {option!r}"
        if option in ("min", "max", "max_days", "within_s") and not _number(value):
            return f"takes a number for {option!r}"
        if option in ("past", "future") and not isinstance(value, bool):
            return f"takes true or false for {option!r}"
        if option == "code" and not (isinstance(value, str) and _CODE.fullmatch(value)):
            return "takes a code in upper case for 'code'"
        if option == "table" and not (
            isinstance(value, Mapping) and all(isinstance(item, list | tuple) for item in value.values())
        ):
            return "takes a mapping of each state to the list of those that may follow for 'table'"
        named = value if option in ("arguments", "subject", "same") else [value]
        if option in ("argument", "to", "min_of", "max_of", "arguments", "subject", "same"):
            for argument in named:
                if argument not in fields:
                    return f"names the argument {str(argument)[:80]!r}, which the tool does not have"
    return ""
