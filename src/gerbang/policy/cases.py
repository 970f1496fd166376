"""Cases of a policy as data: a note, the input, and what is wanted. And which rules no case has decided."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from msgspec import Struct

from gerbang.errors import PolicyError
from gerbang.policy.document import read_document
from gerbang.policy.input import PolicyInput
from gerbang.policy.obligations import read_obligations
from gerbang.policy.rule import VERDICTS, only
from gerbang.policy.where import MisplacedError, Where, located
from gerbang.values import Decision
from gerbang.values.yamltext import read_yaml

_KEYS: Final = ("note", "input", "want")
_WANTS: Final = ("decision", "reasons", "rule", "obligations")


class Want(Struct, frozen=True):
    """What a case wants. None stands for what it does not care about."""

    decision: str
    reasons: tuple[str, ...] | None = None
    rule: str | None = None
    obligations: tuple[str, ...] | None = None


class Case(Struct, frozen=True):
    """One case. `origin` is its file, `number` its place there, from 1."""

    origin: str
    number: int
    note: str
    document: PolicyInput
    want: Want


class Tried(Struct, frozen=True):
    """A case, what was decided, and how that differs from what it wants. No difference: it passed."""

    case: Case
    decision: Decision
    wrong: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the form that `--json` prints."""
        return {
            "file": self.case.origin,
            "case": self.case.number,
            "note": self.case.note,
            "passed": not self.wrong,
            "wrong": list(self.wrong),
            "decision": self.decision.as_dict(),
        }


def read_cases(text: str, origin: str) -> list[Case]:
    """Return the cases of a YAML text: a list of `note`, `input` and `want`.

    `input` is a policy document of which all but the tool's name and class may be absent; `want` is `allow`,
    `ask` or `deny`, or a mapping of `decision`, `reasons`, `rule` and `obligations`. Raises PolicyError.
    """
    data = read_yaml(text, origin, PolicyError)
    try:
        if not isinstance(data, list) or not data:
            raise Where(origin).error("cases are a list of mappings with 'note', 'input' and 'want'.")
        return [_case(item, index, Where(origin)) for index, item in enumerate(data)]
    except MisplacedError as error:
        raise located(error, text) from None


def _case(data: Any, index: int, file: Where) -> Case:
    where = file.at(index, f"case {index + 1}")
    if not isinstance(data, dict):
        raise where.error("a case is a mapping with 'note', 'input' and 'want'.")
    only(data, _KEYS, where)
    for key in _KEYS:
        if key not in data:
            raise where.error(f"{key!r} is missing.")
    if not isinstance(data["note"], str):
        raise where.at("note", "").error("'note' is a sentence.")
    try:
        document = read_document(data["input"], "input")
    except PolicyError as error:
        raise where.at("input", "").error(str(error)) from None
    return Case(
        file.origin, index + 1, data["note"], document, _want(data["want"], where.at("want", ", want"))
    )


def _want(data: Any, where: Where) -> Want:
    written = data if isinstance(data, dict) else {"decision": data}
    only(written, _WANTS, where)
    decision = written.get("decision")
    if not isinstance(decision, str) or decision not in VERDICTS:
        raise where.error("takes allow, ask or deny, or a mapping with 'decision'.")
    rule = written.get("rule")
    if rule is not None and not isinstance(rule, str):
        raise where.at("rule", ".rule").error("takes the id of a rule.")
    reasons = written.get("reasons")
    if reasons is not None and not (
        isinstance(reasons, list) and all(isinstance(code, str) for code in reasons)
    ):
        raise where.at("reasons", ".reasons").error("takes a list of codes.")
    obligations = written.get("obligations")
    try:
        duties = None if obligations is None else tuple(map(str, read_obligations(obligations)))
    except (PolicyError, TypeError) as error:
        raise where.at("obligations", ".obligations").error(str(error)) from None
    return Want(decision, None if reasons is None else tuple(reasons), rule, duties)


def try_case(case: Case, decide: Callable[[PolicyInput], Decision]) -> Tried:
    """Return what the policy says to a case, and what is wrong with that."""
    decision, want, wrong = decide(case.document), case.want, []
    if decision.decision != want.decision:
        wrong.append(f"decision is {decision.decision}, wanted {want.decision}")
    if want.reasons is not None and decision.reasons != want.reasons:
        wrong.append(f"reasons are {_listed(decision.reasons)}, wanted {_listed(want.reasons)}")
    if want.rule is not None and decision.rule != want.rule:
        wrong.append(f"rule is {decision.rule or 'none'}, wanted {want.rule}")
    if want.obligations is not None and decision.obligations != want.obligations:
        wrong.append(f"obligations are {_listed(decision.obligations)}, wanted {_listed(want.obligations)}")
    return Tried(case, decision, tuple(wrong))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def undecided(rules: Iterable[str], tried: Iterable[Tried]) -> tuple[str, ...]:
    """Return the ids of the rules that decided no case, sorted."""
    return tuple(sorted(set(rules) - {item.decision.rule for item in tried if item.decision.rule}))
