"""`gerbang policy explain`: which rule decided, and why each other did not."""

from pathlib import Path
from typing import Annotated, Any, Final

import orjson
import typer

from gerbang.cli import options
from gerbang.cli.exits import Exit
from gerbang.cli.policy_source import PolicyName, Source, opened
from gerbang.cli.safe_text import one_line
from gerbang.cli.screen import Screen
from gerbang.cli.standard_input import read_all
from gerbang.errors import PolicyError, UsageError
from gerbang.policy.comparisons import MISSING
from gerbang.policy.document import read_document
from gerbang.policy.explain import Explanation, RuleTold, explain
from gerbang.policy.input import PolicyInput
from gerbang.values.yamltext import read_yaml

_MAX_BYTES: Final = 4_000_000
_STYLE: Final = {"allow": "green", "ask": "yellow", "deny": "red"}


def register(group: typer.Typer) -> None:
    """Add the command to the group."""
    group.command("explain")(explain_)


def explain_(
    policy: PolicyName,
    call: Annotated[
        str,
        typer.Argument(
            metavar="INPUT", help="The input as JSON or YAML, a file of it, or - for standard input."
        ),
    ],
    json: options.Json = False,
) -> int:
    """Say which rule decides a call, and of every other rule the first condition that fails.

    INPUT is a policy document, as in cases; all but the tool's name and class may be absent. Of a policy in
    Rego, or behind a server, the result and its reasons are said, and what went wrong.

    \b
    Examples:
      gerbang policy explain strict '{"tool": {"name": "disk.wipe.v1", "risk_class": "destructive"}}'
      gerbang policy explain rules.yaml call.json --json
    """
    with opened(policy) as source:
        document = _read(call)
        told = _asked(source, document) if source.path is None else explain(source.compiled().rules, document)
    screen = Screen.standard()
    if json:
        screen.document(told if isinstance(told, dict) else told.as_dict())
    elif isinstance(told, dict):
        _print_asked(screen, told)
    else:
        _print(screen, told)
    return Exit.DONE


def _asked(source: Source, document: PolicyInput) -> dict[str, Any]:
    """Return what another engine says: the decision, and in words what went wrong if anything did."""
    tell = getattr(source.policy, "tell", None)
    if tell is None:
        return {"decision": source.policy.decide(document).as_dict(), "detail": ""}
    said = tell(document)
    return {"decision": said.decision.as_dict(), "detail": said.detail}


def _print_asked(screen: Screen, told: dict[str, Any]) -> None:
    decision = told["decision"]
    head = screen.styled(decision["decision"], _STYLE[decision["decision"]])
    screen.line(f"{head}  {', '.join(decision['reasons'])}")
    if decision["rule"] is not None:
        screen.line(f"The rule {one_line(decision['rule'])} decided.")
    if decision["obligations"]:
        screen.line(f"Obligations: {', '.join(decision['obligations'])}")
    if told["detail"]:
        screen.line(one_line(told["detail"], 600))


def _read(call: str) -> PolicyInput:
    if call == "-":
        text, origin = read_all(_MAX_BYTES, "The input"), "standard input"
    elif call.lstrip()[:1] in ("{", "[") or "\n" in call or ": " in call:
        text, origin = call, "input"
    else:
        text, origin = _text(call), call
    return read_document(read_yaml(text, origin, PolicyError), origin)  # YAML covers JSON


def _text(name: str) -> str:
    """Return what a file holds. Raises UsageError."""
    try:
        return Path(name).expanduser().read_text("utf-8")
    except UnicodeDecodeError as error:
        why = f"it is not UTF-8 text (byte {error.start})"
    except FileNotFoundError:
        why = "there is no such file"
    except IsADirectoryError:
        why = "it is a folder" if name else "it is empty"
    except OSError as error:
        why = error.strerror or type(error).__name__
    shown = f" {one_line(name)}" if name else ""
    raise UsageError(f"The input{shown} cannot be read: {why}. Give a file, JSON or YAML, or - .")


def _print(screen: Screen, told: Explanation) -> None:
    decision = told.decision
    head = screen.styled(decision.decision, _STYLE[decision.decision])
    screen.line(f"{head}  {', '.join(decision.reasons)}")
    if told.default is not None:
        screen.line(f"No rule matches: the default of {told.default} decides.")
    for floor in told.floors:
        screen.line(f"The floor {floor} asks although nothing else does.")
    if decision.obligations:
        screen.line(f"Obligations: {', '.join(decision.obligations)}")
    for rule in sorted(told.rules, key=lambda rule: ("error", "decided", "matched", "not").index(rule.role)):
        screen.line(f"  {one_line(rule.id)} ({rule.decision}): {_why(rule)}")


def _why(rule: RuleTold) -> str:
    if rule.role == "decided":
        return "decided"
    if rule.role == "matched":
        return "matched too"
    got = "there is none" if rule.got is MISSING else f"it is {_shown(rule.got)}"
    said = f"{rule.condition} wants {_shown(rule.want)}"
    if rule.role == "error":
        return f"failed at {said}; {got}; the call is denied"
    return said if rule.got is None and rule.condition.startswith("history") else f"{said}; {got}"


def _shown(value: Any) -> str:
    try:
        text = orjson.dumps(value).decode()
    except TypeError:
        text = str(value)
    return one_line(text, 160)
