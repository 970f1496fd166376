"""Lint rules about what a tool changes, and how it runs."""

from collections.abc import Iterator
from typing import Final

from gerbang.contract.lint_rule import CHANGES, COMMUNICATES, FINAL, Hit, Rule, arguments, vocabulary, words
from gerbang.contract.versions import versioned
from gerbang.values import Contract, RiskClass

_STARTS: Final = vocabulary(
    "add append book create draft insert invite log new notify open post publish put record register reply "
    "request send start submit upload"
)
_VERSIONS: Final = vocabulary(
    "base commit digest etag expected generation head hash match modified revision sha snapshot version"
)
_FRESHNESS: Final = frozenset({"fresh_snapshot", "version"})
_STEERED: Final = frozenset(
    {
        RiskClass.WRITE_EXTERNAL,
        RiskClass.TRANSACTIONAL,
        RiskClass.DESTRUCTIVE,
        RiskClass.CODE_EXECUTION,
        RiskClass.EXTERNAL_COMMUNICATION,
    }
)
_LONG_S: Final = 300.0
_LARGE_CHARS: Final = 100_000


def _undeclared_effects(contract: Contract) -> Iterator[Hit]:
    if not contract.risk.is_read and contract.side_effects is None:
        yield "/side_effects", f"A tool of the class {contract.risk} does not say what it changes."


def _effects_without_resources(contract: Contract) -> Iterator[Hit]:
    effects = contract.side_effects
    if contract.risk in CHANGES and effects is not None and not effects.resources:
        yield "/side_effects/resources", f"{effects.kind!r} of what is not said."


def _no_reversibility(contract: Contract) -> Iterator[Hit]:
    effects = contract.side_effects
    if contract.risk in CHANGES and effects is not None and effects.reversible is None:
        yield "/side_effects/reversible", "Nothing says whether the effect can be taken back."


def _no_compensation(contract: Contract) -> Iterator[Hit]:
    effects = contract.side_effects
    if effects is None or effects.compensating_action is not None or contract.risk not in CHANGES:
        return
    if effects.reversible in ("yes", "partially"):
        yield (
            "/side_effects/compensating_action",
            "The effect can be taken back, and no tool is named for it.",
        )
    elif effects.reversible == "no" and "irreversible" not in contract.facts:
        yield "/facts", "The effect cannot be taken back, and approvers are not told."


def _no_idempotency(contract: Contract) -> Iterator[Hit]:
    effects = contract.side_effects
    wanted = contract.risk in CHANGES or (effects is not None and effects.idempotency_required)
    if wanted and not (contract.natural_key or contract.honours_key or contract.probe):
        yield "/natural_key", "A call that is made again may take effect twice."


def _optional_key(contract: Contract) -> Iterator[Hit]:
    required = contract.parameters.get("required", ())
    for name in contract.natural_key:
        if name not in required:
            yield f"/parameters/properties/{name}", f"{name!r} identifies the effect, and may be left out."


def _no_approval(contract: Contract) -> Iterator[Hit]:
    effects = contract.side_effects
    if contract.risk in FINAL and not (effects is not None and effects.default_requires_approval):
        yield (
            "/side_effects/default_requires_approval",
            f"A tool of the class {contract.risk} runs without a person's yes.",
        )


def _no_read_before_write(contract: Contract) -> Iterator[Hit]:
    if contract.risk not in (RiskClass.WRITE_INTERNAL, RiskClass.WRITE_EXTERNAL, RiskClass.DESTRUCTIVE):
        return
    if _STARTS.intersection(words(versioned(contract.name).base.rpartition(".")[2])[:1]):
        return  # what is new has no earlier version
    named = {word for name in arguments(contract) for word in words(name)}
    if not named & _VERSIONS and not any(check.name in _FRESHNESS for check in contract.validators):
        yield "/parameters/properties", "The tool changes what the model may have read long ago, or never."


def _no_control(contract: Contract) -> Iterator[Hit]:
    if contract.risk in _STEERED and arguments(contract) and not contract.control:
        yield "/control", "Nothing says which arguments steer the effect."


def _no_content(contract: Contract) -> Iterator[Hit]:
    if contract.risk != COMMUNICATES:
        return
    named = contract.control | contract.content
    missing = [name for name in arguments(contract) if name not in named]
    if not contract.content or missing:
        what = f"{', '.join(missing)} are" if missing else "No argument is"
        yield "/content", f"{what} {'neither control nor content' if missing else 'content'}."


def _long_timeout(contract: Contract) -> Iterator[Hit]:
    if contract.timeout_s > _LONG_S and contract.idle_timeout_s is None:
        yield "/timeout_s", f"A call that hangs is noticed after {contract.timeout_s:g} s."


def _large_result(contract: Contract) -> Iterator[Hit]:
    if contract.result_max_chars > _LARGE_CHARS:
        yield (
            "/result_max_chars",
            f"One result may fill {contract.result_max_chars} characters of the context.",
        )


def _no_rate(contract: Contract) -> Iterator[Hit]:
    if contract.risk in (COMMUNICATES, RiskClass.TRANSACTIONAL) and contract.rate is None:
        yield "/rate", "A run gone wrong may call this as often as its budget allows."


def _unknown_cancellation(contract: Contract) -> Iterator[Hit]:
    if contract.risk in CHANGES and contract.cancellation == "unknown":
        yield "/cancellation", "Nothing says what a cancelled call leaves behind."


def _no_errors(contract: Contract) -> Iterator[Hit]:
    if not contract.error_categories:
        yield "/error_categories", "Nothing says how the tool fails."


def _exposed_to_all(contract: Contract) -> Iterator[Hit]:
    shown = contract.expose
    if contract.risk in FINAL and not any(
        (shown.intents, shown.states, shown.tenants, shown.roles, shown.scopes)
    ):
        yield "/expose", f"Every run knows of a tool of the class {contract.risk}."


def _no_scopes(contract: Contract) -> Iterator[Hit]:
    if contract.risk in CHANGES and not contract.scopes:
        yield "/scopes", "Every actor may call this."


def _secrets_with_code(contract: Contract) -> Iterator[Hit]:
    if contract.risk == RiskClass.CODE_EXECUTION and contract.secrets:
        yield "/secrets", f"Code that a model wrote runs beside {', '.join(contract.secrets)}."


RULES: Final = (
    Rule(
        "undeclared-side-effects",
        "error",
        "The tool does not say what it changes.",
        "Fill side_effects: kind, resources, reversible.",
        _undeclared_effects,
    ),
    Rule(
        "effects-without-resources",
        "warning",
        "What changes is not named.",
        "List the kinds of things that change in side_effects.resources.",
        _effects_without_resources,
    ),
    Rule(
        "reversibility-not-declared",
        "warning",
        "Nothing says whether the effect can be taken back.",
        "Say yes, partially or no in side_effects.reversible.",
        _no_reversibility,
    ),
    Rule(
        "missing-compensation",
        "warning",
        "There is no way back, or none is named.",
        "Name the tool that takes the effect back in side_effects.compensating_action; where there is none, "
        "say reversible: no and add irreversible to facts.",
        _no_compensation,
    ),
    Rule(
        "mutation-without-idempotency",
        "error",
        "A call that is made again may take effect twice.",
        "Name the arguments that identify the effect in natural_key, or say honours_key, or name a probe.",
        _no_idempotency,
    ),
    Rule(
        "optional-natural-key",
        "error",
        "An argument that identifies the effect may be left out.",
        "Make it required.",
        _optional_key,
    ),
    Rule(
        "destructive-without-approval",
        "error",
        "What cannot be undone, or moves money, asks nobody.",
        "Say side_effects.default_requires_approval: true.",
        _no_approval,
    ),
    Rule(
        "missing-read-before-write",
        "warning",
        "The change does not name the version that it is meant for.",
        "Take the version, etag or snapshot that was read as an argument, or add the validator "
        "fresh_snapshot.",
        _no_read_before_write,
    ),
    Rule(
        "missing-control",
        "warning",
        "Nothing says which arguments steer the effect, so taint cannot be seen there.",
        "Name recipient, address, path, amount or command in control.",
        _no_control,
    ),
    Rule(
        "missing-content",
        "warning",
        "Nothing says which arguments are only carried to the reader.",
        "Put each argument into control or content.",
        _no_content,
    ),
    Rule(
        "long-timeout",
        "warning",
        "A call that hangs is noticed late.",
        "Lower timeout_s, or add idle_timeout_s.",
        _long_timeout,
    ),
    Rule(
        "large-result",
        "warning",
        "A result may fill the model's context.",
        "Lower result_max_chars and let the tool page, filter or summarise.",
        _large_result,
    ),
    Rule(
        "missing-rate",
        "note",
        "Nothing limits how often this reaches people or money.",
        "Set rate: calls in per_s seconds.",
        _no_rate,
    ),
    Rule(
        "unknown-cancellation",
        "note",
        "Nothing says what a cancelled call leaves behind.",
        "Say stops or finishes in cancellation.",
        _unknown_cancellation,
    ),
    Rule(
        "undeclared-errors",
        "note",
        "Nothing says how the tool fails.",
        "List the error types that it answers with in error_categories.",
        _no_errors,
    ),
    Rule(
        "exposed-to-all",
        "warning",
        "A dangerous tool is in every model's context.",
        "Limit expose by intents, states, roles or scopes.",
        _exposed_to_all,
    ),
    Rule(
        "missing-scopes",
        "warning",
        "Every actor may make the change.",
        "Name the scopes that the actor must have in scopes.",
        _no_scopes,
    ),
    Rule(
        "secrets-with-code",
        "error",
        "Code that a model wrote can read a secret.",
        "Take secrets away from tools that execute code.",
        _secrets_with_code,
    ),
)
