"""Layer 2 of validation: do the arguments make sense? Named validators over values that were read before.

A validator is a pure function. What it has to know of the world it declares (`reads`); the runtime reads
that before it is run, and the reads are recorded with the call.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from gerbang.limits import MAX_FINDINGS
from gerbang.values import CallError, InvalidField, Principal
from gerbang.values.contract_parts import Check
from gerbang.values.pointer import pointer
from gerbang.values.principal import is_name
from gerbang.values.sentences import said
from gerbang.values.text import clean_text


class ReadAsked(Struct, frozen=True, gc=False):
    """One thing to look up: the name of a reader, and the arguments of the call that it is told."""

    reader: str
    subject: tuple[str, ...] = ()


class SeenCall(Struct, frozen=True, gc=False):
    """A call of the run that succeeded, as far as validators look at it. `at` is seconds since the epoch."""

    tool: str
    call_id: str
    event_id: str
    arguments: Mapping[str, Any]
    at: float


class SemanticFacts(Struct, frozen=True, gc=False):
    """What a validator may know. `reads` holds the answers by question; `seen` the run's earlier calls."""

    arguments: Mapping[str, Any]
    principal: Principal
    now: float
    purpose: str | None = None
    intent: str | None = None
    reads: Mapping[ReadAsked, Any] = {}
    seen: Sequence[SeenCall] = ()


class Finding(Struct, frozen=True, gc=False):
    """What is wrong: a code such as STALE_SNAPSHOT, the arguments it is about, and why.

    `said` and `params` are what the message is made of, where it stands in the table of sentences.
    """

    code: str
    arguments: tuple[str, ...]
    message: str
    said: str = ""
    params: dict[str, str | int | float] = {}


Options = Mapping[str, Any]
CheckFunction = Callable[[Options, SemanticFacts], Iterable[Finding]]


class SemanticValidator(Struct, frozen=True, gc=False):
    """A named check of meaning.

    `check` gets the options that the contract gives and the facts, and yields findings; it does no I/O.
    `reads` says, from the options, what has to be looked up first. `watches` says which tools' earlier
    calls of the run it looks at (`*`: all).
    """

    name: str
    check: CheckFunction
    reads: Callable[[Options], tuple[ReadAsked, ...]] = lambda _: ()
    watches: Callable[[Options], tuple[str, ...]] = lambda _: ()


class Bound(Struct, frozen=True, gc=False):
    """A validator with the options of one contract."""

    validator: SemanticValidator
    options: Options
    reads: tuple[ReadAsked, ...]


class Semantics(Struct, frozen=True, gc=False):
    """The checks of one contract, bound once. `reads` is what they need, each once."""

    bound: tuple[Bound, ...]
    reads: tuple[ReadAsked, ...]
    watches: frozenset[str]

    def check(self, facts: SemanticFacts) -> CallError | None:
        """Return all findings of all validators as one error, or None. Raises what a validator raises, and
        TypeError for findings that are none.
        """
        found = [finding for one in self.bound for finding in one.validator.check(one.options, facts)]
        if not found:
            return None
        if not all(map(_is_finding, found)):
            raise TypeError("a validator yields findings")
        return _error(found[:MAX_FINDINGS])


NO_CHECKS: Final = Semantics((), (), frozenset())


def bind(checks: Iterable[Check], known: Mapping[str, SemanticValidator]) -> Semantics:
    """Return the checks of a contract. Raises KeyError for a name that is not known."""
    bound = []
    for check in checks:
        validator = known[check.name]
        bound.append(Bound(validator, check.options, validator.reads(check.options)))
    if not bound:
        return NO_CHECKS
    reads = dict.fromkeys(asked for one in bound for asked in one.reads)
    watches = frozenset(tool for one in bound for tool in one.validator.watches(one.options))
    return Semantics(tuple(bound), tuple(reads), watches)


def unavailable(reader: str) -> CallError:
    """Return the error for something that could not be looked up: the call is not made on a guess."""
    return said("semantic_error", "CHECK_FAILED", {"reader": reader}, recoverable=True)


def _is_finding(found: object) -> bool:
    """Tell whether a validator's finding can be recorded and shown."""
    return (
        type(found) is Finding
        and is_name(found.code)
        and type(found.arguments) is tuple
        and all(map(is_name, found.arguments))
        and type(found.message) is str
        and clean_text(found.message) == found.message
    )


def _error(found: Sequence[Finding]) -> CallError:
    first = found[0]
    message = " ".join(dict.fromkeys(finding.message for finding in found))
    fields = tuple(_fields(found))
    try:
        return said(
            "semantic_error",
            first.code,
            message=message,
            recoverable=True,
            invalid_fields=fields,
        )
    except KeyError:  # a code of the embedding program's own
        return CallError(
            "semantic_error",
            first.code,
            message,
            recoverable=True,
            suggested_fix="Read first, or choose another value.",
            invalid_fields=fields,
        )


def _fields(found: Sequence[Finding]) -> Iterator[InvalidField]:
    for finding in found:
        for argument in finding.arguments or ("",):
            where = pointer([argument] if argument else [])
            yield InvalidField(where, finding.code, finding.message, finding.said, finding.params)
