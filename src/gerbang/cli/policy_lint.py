"""`gerbang policy lint`: what is wrong or useless in a policy."""

import typer
from msgspec.structs import replace

from gerbang.adapters.policy.bundle import BundleError
from gerbang.cli import options, street
from gerbang.cli.exits import Exit
from gerbang.cli.policy_source import PolicyName, is_engine, opened, path_of
from gerbang.cli.safe_text import one_line
from gerbang.cli.screen import Screen
from gerbang.compose.policy import policy_texts
from gerbang.compose.policy_zones import zone
from gerbang.errors import PolicyError
from gerbang.policy.lint import Finding, lint
from gerbang.values import Contract

_STYLE = {"error": "red", "warning": "yellow", "note": "dim"}


def register(group: typer.Typer) -> None:
    """Add the command to the group."""
    group.command("lint")(lint_)


def lint_(
    policy: PolicyName,
    python: options.Tools = None,
    tools: options.HttpTools = None,
    json: options.Json = False,
) -> int:
    """Say what is wrong or useless in a policy. Exit code 1 when there are errors or warnings.

    Found are: fields and conditions that do not exist, values of the wrong type, rules that can never match
    or that another rule always overrides, defaults written twice or not at all, facts that nothing asks for.
    With --python or --tools also: tools and arguments that do not exist, comparisons that do not fit an
    argument.

    \b
    Examples:
      gerbang policy lint rules.yaml
      gerbang policy lint policies/ --json
      gerbang policy lint rules.yaml --python mytools:tools --tools tools.json
      gerbang policy lint rego:policies/rego
    """
    if is_engine(policy):
        found = _engine(policy)
    else:
        found = lint(policy_texts(path_of(policy)), zone, _contracts(python or [], tools))
    screen = Screen.standard()
    if json:
        screen.document([item.as_dict() for item in found])
    else:
        for item in found:
            place = f":{item.line}:{item.column}" if item.line else ""
            level = screen.styled(item.level, _STYLE[item.level])
            rule = f"rule {one_line(item.rule)}: " if item.rule else ""
            screen.line(
                f"{one_line(item.file)}{place}: {level}: {rule}{one_line(item.message, 600)} [{item.code}]"
            )
        if not found:
            screen.line("Nothing found.")
    return Exit.FAILED if any(item.level != "note" for item in found) else Exit.DONE


def _contracts(extra: list[str], file: str | None) -> list[Contract]:
    """Return the contracts of all tools that there are; none when no tools of one's own are named."""
    if not extra and file is None:
        return []
    # nothing runs, so contracts need not be approved, and no workspace is made
    settings = replace(options.settings(None, tools_file=file), pin_contracts=None)
    offered = [
        *street.tools(settings, extra, look=True),
        *street.contract_tools(settings),
        *street.file_tools(settings),
    ]
    return [tool.contract for tool in offered if hasattr(tool, "contract")]


def _engine(policy: str) -> tuple[Finding, ...]:
    """Return what another engine refuses: its loader lints, so a policy that opens has no findings."""
    try:
        with opened(policy):
            return ()
    except BundleError as error:
        return tuple(
            Finding("DOES_NOT_LOAD", "error", text, file, line, column)
            for file, line, column, text in error.faults
        )
    except PolicyError as error:
        return (Finding("DOES_NOT_LOAD", "error", str(error), policy),)
