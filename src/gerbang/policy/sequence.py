"""Conditions over what the run has done: after, not after, how often, how many at once.

A question picks calls by one thing: a tool (`crm.read.v1`, or `crm.*` for all below `crm`), a class, a
group, a kind of resource, a class of data or a kind of side effect. Each is counted under its own key as the
run goes on, so an answer costs the same however long the run is.

Which calls count follows the stricter reading unless `status` says otherwise: a rule that allows wants to
see success (`ok`) for `after`, and takes any call that began for `not_after`; in rules that ask or deny it is
the other way round.
"""

from collections.abc import Callable
from typing import Any, Final

from gerbang.policy.comparisons import Test, comparison, texts
from gerbang.policy.history import KEPT, History, Tally
from gerbang.policy.input import PolicyInput
from gerbang.policy.where import Where, short
from gerbang.values import RiskClass

Asked = Callable[[PolicyInput], bool]

_PREFIX: Final = {
    "tool": "tool:",
    "class": "class:",
    "group": "group:",
    "resource": "resource:",
    "data": "data:",
    "effect": "effect:",
}
_STATUS: Final = ("ok", "started")


def sequence(want: Any, where: Where, *, allows: bool) -> list[tuple[str, Any, Asked]]:
    """Return the conditions of a `history` block: their names, what was written, and the functions.

    `allows` says whether the rule allows. Raises MisplacedError.
    """
    if not isinstance(want, dict) or not want:
        raise where.error(f"takes a mapping of: {', '.join(_BUILDERS)}.")
    found = []
    for key, written in want.items():
        builder = _BUILDERS.get(key)
        below = where.at(key, f".{key}")
        if builder is None:
            raise below.error(f"unknown condition. Known: {', '.join(_BUILDERS)}.")
        found.append((f"history.{key}", written, builder(written, below, allows)))
    return found


def _keys(want: dict[str, Any], where: Where, extra: set[str]) -> tuple[str, ...]:
    """Return the history's keys that a question picks calls by."""
    for key in want:
        if key not in _PREFIX and key not in extra:
            known = ", ".join([*_PREFIX, *sorted(extra)])
            raise where.at(key, "").error(f"unknown field {short(key)}. Known: {known}.")
    by = [key for key in _PREFIX if key in want]
    if len(by) != 1:
        raise where.error(f"names exactly one of: {', '.join(_PREFIX)}.")
    names = texts(want[by[0]], where.at(by[0], f".{by[0]}"))
    if by[0] == "tool":
        return tuple(_tool_key(name, where) for name in names)
    if by[0] == "class":
        for name in names:
            if name not in list(RiskClass):
                raise where.error(f"{short(name)} is not a risk class. Use one of: {', '.join(RiskClass)}.")
    return tuple(_PREFIX[by[0]] + name for name in names)


def _tool_key(name: str, where: Where) -> str:
    head, dot, last = name.rpartition(".")
    if last == "*" and dot and "*" not in head:
        return f"under:{head}"
    if "*" in name:
        raise where.error(f"{short(name)}: a star may only stand for the last segments, as in 'mail.*'.")
    return f"tool:{name}"


def _latest(keys: tuple[str, ...], ok: bool) -> Callable[[History], int]:
    """Return the function that gives the number of the newest call under any of the keys, 0 for none."""
    name = "last_ok" if ok else "last"
    if len(keys) == 1:
        key = keys[0]
        return (lambda past: past.tally(key).last_ok) if ok else (lambda past: past.tally(key).last)
    return lambda past: max(getattr(past.tally(key), name) for key in keys)


def _after(negated: bool) -> Callable[[Any, Where, bool], Asked]:
    def build(want: Any, where: Where, allows: bool) -> Asked:
        items = want if isinstance(want, list) else [want]
        if not items:
            raise where.error("takes a question such as {class: read_external}, or a list of them.")
        asked = [_happened(item, where, ok=allows is not negated) for item in items]
        if len(asked) == 1:
            only = asked[0]
            return (lambda doc: not only(doc)) if negated else only
        if negated:
            return lambda doc: not any(ask(doc) for ask in asked)
        return lambda doc: all(ask(doc) for ask in asked)

    return build


def _happened(want: Any, where: Where, *, ok: bool) -> Asked:
    """Return whether such a call was made: in the run, in its last `within` calls, later than `since`."""
    if not isinstance(want, dict):
        raise where.error("takes a question such as {class: read_external}.")
    keys = _keys(want, where, {"status", "within", "since"})
    status = want.get("status")
    if status is not None:
        if status not in _STATUS:
            raise where.at("status", ".status").error("takes 'ok' or 'started'.")
        ok = status == "ok"
    latest = _latest(keys, ok)
    within, since = want.get("within"), want.get("since")
    if within is not None:
        _whole(within, where.at("within", ".within"))
    if since is None:
        if within is None:
            return _ever(keys[0], ok) if len(keys) == 1 else lambda doc: latest(doc.history) > 0
        return lambda doc: latest(doc.history) > max(0, doc.history.total - within)
    below = where.at("since", ".since")
    if not isinstance(since, dict):
        raise below.error("takes a question such as {tool: repo.apply_patch.v1}.")
    # What came before must count as soon as it began: it may have changed something.
    before = _latest(_keys(since, below, set()), ok=False)
    reach = within or 0

    def later(doc: PolicyInput) -> bool:
        past = doc.history
        return latest(past) > max(before(past), past.total - reach if reach else 0)

    return later


def _ever(key: str, ok: bool) -> Asked:
    """Return whether any such call was made; the commonest question, in the fewest steps."""
    if not ok:
        return lambda doc: key in doc.history.tallies

    def asked(doc: PolicyInput) -> bool:
        tally = doc.history.tallies.get(key)
        return tally is not None and tally.ok > 0

    return asked


def _whole(value: Any, where: Where, most: int | None = None) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1 or (most and value > most):
        raise where.error("takes a whole number" + (f" from 1 to {most}." if most else " from 1."))


def _count(want: Any, where: Where, allows: bool) -> Asked:
    """Return whether so many such calls were made, in the run or in its last `within` calls."""
    items = want if isinstance(want, list) else [want]
    asked = [_counted(item, where) for item in items]
    if not asked:
        raise where.error("takes a question such as {class: external_communication, ge: 3}.")
    return lambda doc: all(ask(doc) for ask in asked)


_NUMBERS: Final = {"lt", "le", "gt", "ge", "eq", "ne"}


def _counted(want: Any, where: Where) -> Asked:
    if not isinstance(want, dict) or not want.keys() & _NUMBERS:
        raise where.error("takes a question with a comparison, such as {class: destructive, ge: 1}.")
    keys = _keys(want, where, {"status", "within", *_NUMBERS})
    test = _numbers({name: want[name] for name in want if name in _NUMBERS}, where)
    status, within = want.get("status", "started"), want.get("within")
    if status not in _STATUS:
        raise where.at("status", ".status").error("takes 'ok' or 'started'.")
    ok = status == "ok"
    if len(keys) > 1 or within is not None:
        if within is None:
            raise where.error("counts one thing at a time; write a list of questions for several.")
        _whole(within, where.at("within", ".within"), KEPT)
        wanted = frozenset(keys)
        return lambda doc: test(
            sum(call.is_under(wanted) for call in doc.history.last(within) if not ok or call.status == "ok")
        )
    key = keys[0]
    return lambda doc: test(_of(doc.history.tally(key), ok))


def _of(tally: Tally, ok: bool) -> int:
    return tally.ok if ok else tally.started


def _numbers(want: Any, where: Where) -> Test:
    written = want if isinstance(want, dict) else {"eq": want}
    for name, bound in written.items():
        if name not in _NUMBERS or isinstance(bound, bool) or not isinstance(bound, int):
            raise where.error(f"takes a whole number, or comparisons of: {', '.join(sorted(_NUMBERS))}.")
    return comparison(written, where)


def _figure(read: Callable[[History], int]) -> Callable[[Any, Where, bool], Asked]:
    def build(want: Any, where: Where, allows: bool) -> Asked:
        test = _numbers(want, where)
        return lambda doc: test(read(doc.history))

    return build


_BUILDERS: Final[dict[str, Callable[[Any, Where, bool], Asked]]] = {
    "after": _after(False),
    "not_after": _after(True),
    "count": _count,
    "total": _figure(lambda past: past.total),
    "in_flight": _figure(lambda past: past.in_flight),
}
