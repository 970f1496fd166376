"""Lint rules about names and about what the model is told."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from gerbang.contract.lint_rule import CHANGES, Hit, Rule, said, vocabulary, words
from gerbang.contract.versions import versioned
from gerbang.values import Contract, RiskClass

_GENERIC: Final = vocabulary(
    "action api call command custom do exec execute function general generic handle helper invoke it main "
    "manage misc operate perform process query request run task tool util utility utils work"
)
_ALIKE: Final = {
    **dict.fromkeys(("fetch", "retrieve", "load", "read", "show", "view"), "get"),
    **dict.fromkeys(("remove", "erase", "drop", "destroy"), "delete"),
    **dict.fromkeys(("add", "make", "new", "insert"), "create"),
    **dict.fromkeys(("edit", "modify", "change", "patch", "set"), "update"),
    **dict.fromkeys(("find", "lookup", "query"), "search"),
}
_READING_RISKS: Final = frozenset({RiskClass.COMPUTE, RiskClass.READ_INTERNAL, RiskClass.READ_EXTERNAL})
_CHANGING_WORDS: Final = vocabulary(
    "add apply approve cancel charge commit create delete deploy drop edit insert merge modify pay post "
    "publish purge push refund remove rename reply revert send set transfer update upload write"
)
_WHEN: Final = re.compile(r"\buse (?:this|it|for|when|to)\b|\bfor (?:every|all|each)\b|\b(?:pakai|gunakan)\b")
_WHEN_NOT: Final = re.compile(
    r"\bnot (?:for|to|when|if)\b|\b(?:do not|don't|never) use\b|\bnever for\b|\bbukan untuk\b|\bjangan\b"
)
_RETURNS: Final = re.compile(
    r"\breturns?\b|\bgives? back\b|\banswers? with\b|\bmengembalikan\b|\bmenghasilkan\b|\bmemberikan\b"
)
_EFFECT: Final = re.compile(r"\bchanges\b|\beffect\b|\bpublishes\b|\bmengubah\b|\befek\b")
_LIMITS: Final = re.compile(
    r"\d|\bat most\b|\bup to\b|\blimit|\bfirst\b|\bonly\b|\bpaling banyak\b|\bsampai\b|\bpertama\b|\bhanya\b"
)
_NUDGE: Final = re.compile(
    r"\b(?:every|always|whenever|each time|even|before answering)\b|\b(?:setiap|selalu|sebelum menjawab)\b"
)
_PERMISSIVE: Final = re.compile(
    r"\b(?:anything|everything|any (?:task|purpose|command|action|request|kind of)|all purposes?|whatever|"
    r"arbitrary|general[- ]purpose|segala hal|serba guna)\b"
)
_MIN_DESCRIPTION: Final = 20
_MAX_DESCRIPTION: Final = 1_500


def _base(contract: Contract) -> str:
    return versioned(contract.name).base


def _generic_name(contract: Contract) -> Iterator[Hit]:
    last = _base(contract).rpartition(".")[2]
    if words(last) and _GENERIC.issuperset(words(last)):
        yield "/name", f"{last!r} says nothing of what the tool does."


def _unversioned_name(contract: Contract) -> Iterator[Hit]:
    if versioned(contract.name).version is None:
        yield "/name", f"{contract.name!r} has no version."


def _name_without_domain(contract: Contract) -> Iterator[Hit]:
    if "." not in _base(contract):
        yield "/name", f"{contract.name!r} does not say what it belongs to."


def _name_against_class(contract: Contract) -> Iterator[Hit]:
    first = words(_base(contract).rpartition(".")[2])[:1]
    if contract.risk in _READING_RISKS and _CHANGING_WORDS.intersection(first):
        yield "/risk", f"{first[0]!r} sounds like a change, and {contract.risk} changes nothing."


def _short_description(contract: Contract) -> Iterator[Hit]:
    text = contract.description.strip()
    if len(text) < _MIN_DESCRIPTION:
        yield "/description", f"The description has {len(text)} characters."


def _long_description(contract: Contract) -> Iterator[Hit]:
    size = len(said(contract))
    if size > _MAX_DESCRIPTION:
        yield "/description", f"The model reads {size} characters about this tool in every request."


def _permissive_description(contract: Contract) -> Iterator[Hit]:
    found = _PERMISSIVE.search(contract.description.lower())
    if found:
        yield "/description", f"{found.group()!r} invites every use."


def _no_when(contract: Contract) -> Iterator[Hit]:
    if not contract.guidance.when_to_use and not _WHEN.search(said(contract)):
        yield "/guidance/when_to_use", "Nothing says when to use the tool."


def _no_when_not(contract: Contract) -> Iterator[Hit]:
    if not contract.guidance.when_not and not _WHEN_NOT.search(said(contract)):
        yield "/guidance/when_not", "Nothing says when not to use the tool."


def _no_returns_text(contract: Contract) -> Iterator[Hit]:
    if not contract.guidance.returns_text and not _RETURNS.search(said(contract)):
        yield "/guidance/returns_text", "Nothing says what comes back."


def _no_effect_text(contract: Contract) -> Iterator[Hit]:
    if not contract.guidance.effect and not _EFFECT.search(said(contract)):
        yield "/guidance/effect", "Nothing says what a call changes, or that it changes nothing."


def _no_limits_text(contract: Contract) -> Iterator[Hit]:
    if contract.risk == RiskClass.COMPUTE or contract.guidance.limits:
        return
    if not _LIMITS.search(said(contract)):
        yield "/guidance/limits", "Nothing says how much comes back, or how much may be sent."


def _no_alternatives(contract: Contract) -> Iterator[Hit]:
    if contract.risk in CHANGES and not contract.guidance.alternatives:
        yield "/guidance/alternatives", "No milder tool is named for where this one does not fit."


def _no_nudge(contract: Contract) -> Iterator[Hit]:
    if contract.risk in _READING_RISKS and not contract.guidance.nudge and not _NUDGE.search(said(contract)):
        yield "/guidance/nudge", "A small model is not told to prefer the tool to its memory."


def _deprecated_alone(contract: Contract) -> Iterator[Hit]:
    if (contract.deprecated or contract.retired) and contract.replaced_by is None:
        yield "/replaced_by", "The tool is on its way out, and nothing says what to use instead."


def _no_owner(contract: Contract) -> Iterator[Hit]:
    if not contract.owner:
        yield "/owner", "Nobody is named who answers for the tool."


def _key(contract: Contract) -> tuple[str, ...]:
    """Return what is left of a name when its spelling, order, number and synonyms do not count."""
    found = (word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words(_base(contract)))
    return tuple(sorted(_ALIKE.get(word, word) for word in found))


def _near_names(contracts: Sequence[Contract]) -> Iterator[tuple[Contract, Hit]]:
    first: dict[tuple[str, ...], Contract] = {}
    for contract in contracts:
        other = first.setdefault(_key(contract), contract)
        if _base(other) != _base(contract):
            yield contract, ("/name", f"{contract.name!r} is easily taken for {other.name!r}.")


def _near_descriptions(contracts: Sequence[Contract]) -> Iterator[tuple[Contract, Hit]]:
    first: dict[frozenset[str], Contract] = {}
    for contract in contracts:
        opening = contract.description.partition(". ")[0]
        told = frozenset(words(opening))
        if len(told) < 3:
            continue
        other = first.setdefault(told, contract)
        if _base(other) != _base(contract):
            yield contract, ("/description", f"It opens with the same words as that of {other.name!r}.")


def _unknown_names(contracts: Sequence[Contract]) -> Iterator[tuple[Contract, Hit]]:
    known = {contract.name for contract in contracts}
    for contract in contracts:
        effects, probe = contract.side_effects, contract.probe
        named = [("/guidance/alternatives", name) for name in contract.guidance.alternatives]
        named += [("/replaced_by", contract.replaced_by)] if contract.replaced_by else []
        named += [("/probe/tool", probe.tool)] if probe else []
        if effects is not None and effects.compensating_action:
            named.append(("/side_effects/compensating_action", effects.compensating_action))
        for path, name in named:
            if name not in known:
                yield contract, (path, f"{name!r} is not among the tools that were looked at.")


RULES: Final = (
    Rule(
        "generic-name",
        "warning",
        "The last word of the name fits every tool.",
        "Name the one thing that it does, as domain.action.v1, such as invoice.send_reminder.v1.",
        _generic_name,
    ),
    Rule(
        "unversioned-name",
        "warning",
        "The name has no version.",
        "End the name in .v1, so that a changed contract can stand beside it as .v2.",
        _unversioned_name,
    ),
    Rule(
        "name-without-domain",
        "warning",
        "The name does not say what the tool belongs to.",
        "Put the capability in front, such as calendar.create_event.v1.",
        _name_without_domain,
    ),
    Rule(
        "name-against-class",
        "warning",
        "The name sounds like a change, the risk class says that nothing changes.",
        "Choose the class of what the tool really does, or another name.",
        _name_against_class,
    ),
    Rule(
        "near-duplicate-name",
        "warning",
        "Two names differ in spelling, order or a synonym only.",
        "Rename one of them by what sets it apart, or make one tool of both.",
        compare=_near_names,
    ),
    Rule(
        "near-duplicate-description",
        "warning",
        "Two descriptions open with the same words.",
        "Say in the first sentence what sets the tool apart from the other one.",
        compare=_near_descriptions,
    ),
    Rule(
        "unknown-tool-named",
        "warning",
        "The contract names a tool that is not there.",
        "Mend the name, or look at that tool's contract as well.",
        compare=_unknown_names,
    ),
    Rule(
        "short-description",
        "warning",
        "The description is too short to choose by.",
        "Say in one sentence what the tool does, and to what.",
        _short_description,
    ),
    Rule(
        "long-description",
        "note",
        "The description takes much of a small model's context.",
        f"Keep what helps to choose, in {_MAX_DESCRIPTION} characters; move the rest to the documentation.",
        _long_description,
    ),
    Rule(
        "permissive-description",
        "warning",
        "The description invites uses that nobody thought of.",
        "Name the uses that are meant, and what the tool is not for.",
        _permissive_description,
    ),
    Rule(
        "missing-when-to-use",
        "warning",
        "Nothing says when to use the tool.",
        "Fill guidance.when_to_use, or write 'Use this when ...' in the description.",
        _no_when,
    ),
    Rule(
        "missing-when-not",
        "warning",
        "Nothing says when not to use the tool.",
        "Fill guidance.when_not, or write 'Not for ...' in the description.",
        _no_when_not,
    ),
    Rule(
        "missing-returns",
        "warning",
        "Nothing says what comes back.",
        "Fill guidance.returns_text, or write 'Returns ...' in the description.",
        _no_returns_text,
    ),
    Rule(
        "missing-effect",
        "warning",
        "Nothing says what a call changes.",
        "Fill guidance.effect, or write 'Changes ...' or 'Changes nothing.' in the description.",
        _no_effect_text,
    ),
    Rule(
        "missing-limits",
        "note",
        "Nothing says how much comes back, or how much may be sent.",
        "Fill guidance.limits, or write 'at most ...' in the description.",
        _no_limits_text,
    ),
    Rule(
        "missing-alternatives",
        "note",
        "No milder tool is named.",
        "List in guidance.alternatives what to use instead, such as the tool that only makes a draft.",
        _no_alternatives,
    ),
    Rule(
        "missing-nudge",
        "note",
        "A small model is not told to prefer the tool to its memory.",
        "Fill guidance.nudge, such as 'Use this for every calculation, even an easy one.'",
        _no_nudge,
    ),
    Rule(
        "deprecated-without-successor",
        "warning",
        "The tool is deprecated or retired, and nothing says what to use instead.",
        "Name the successor in replaced_by.",
        _deprecated_alone,
    ),
    Rule(
        "missing-owner",
        "note",
        "Nobody is named who answers for the tool.",
        "Write the team or person in owner.",
        _no_owner,
    ),
)
