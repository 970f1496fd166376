"""`gerbang policy test`: cases against a policy, and which rules no case has decided."""

from pathlib import Path
from typing import Annotated, Any

import typer

from gerbang.cli import options
from gerbang.cli.exits import Exit
from gerbang.cli.policy_source import NAMES, Source, case_files, opened, path_of, policy_of_cases
from gerbang.cli.safe_text import one_line, printable
from gerbang.cli.screen import Screen
from gerbang.compose.policy import CASES, Policy
from gerbang.errors import PolicyError, UsageError
from gerbang.policy.cases import Tried, read_cases, try_case, undecided


def register(group: typer.Typer) -> None:
    """Add the command to the group."""
    group.command("test")(try_cases)


def try_cases(
    place: Annotated[
        str,
        typer.Argument(metavar="FILE|DIR", help=f"Cases (*{CASES}), or a policy with its cases beside it."),
    ],
    policy: Annotated[
        str | None, typer.Option("--policy", metavar="POLICY", help="The policy that the cases are about.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Fail as well when a rule has decided no case.")
    ] = False,
    json: options.Json = False,
) -> int:
    """Try a policy against cases. Exit code 1 when a case fails.

    Cases are a YAML list of `note`, `input` and `want`. They lie beside the policy: rules.cases.yaml for
    rules.yaml, or any *.cases.yaml in the policy's folder.

    \b
    Examples:
      gerbang policy test strict
      gerbang policy test policies/
      gerbang policy test repository-agent
      gerbang policy test mail.cases.yaml --policy rego:policies/rego --json
    """
    files, name = _found(place, policy)
    screen = Screen.standard()
    with opened(name) as source:
        tried = [try_case(case, source.policy.decide) for path in files for case in _cases(path)]
        silent = _silent(source, tried)
    failed = [item for item in tried if item.wrong]
    if json:
        screen.document(_report(source, tried, silent))
    else:
        _print(screen, source, tried, silent)
    return Exit.FAILED if failed or (full and silent) else Exit.DONE


def _found(place: str, policy: str | None) -> tuple[list[Path], str]:
    """Return the files of cases, and the name of the policy."""
    path = Path(place).expanduser()
    if place in NAMES and not path.exists():
        return case_files(path_of(place)), policy or place
    if not place or not path.exists():
        raise UsageError(
            f"There is no file or folder {place or 'without a name'}. Name cases, a policy, or one of: "
            f"{', '.join(NAMES)}."
        )
    if path.is_file() and path.name.endswith(CASES):
        return [path], policy or str(policy_of_cases(path))
    files = case_files(path)
    if not files:
        wanted = f"no {path.stem}{CASES} lies beside it" if not path.is_dir() else f"no *{CASES} lies in it"
        raise UsageError(f"{place} has no cases: {wanted}. Write one, or name another.")
    return files, policy or place


def _cases(path: Path) -> list[Any]:
    try:
        return list(read_cases(path.read_text("utf-8"), path.name))
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(f"{path}: the cases cannot be read: {error}") from None


def _silent(source: Source, tried: list[Tried]) -> tuple[str, ...] | None:
    """Return the rules that decided no case; None when the policy's rules cannot be listed."""
    if not isinstance(source.policy, Policy):
        return None
    return undecided((rule.id for rule in source.policy.rules.rules), tried)


def _report(source: Source, tried: list[Tried], silent: tuple[str, ...] | None) -> dict[str, Any]:
    return {
        "policy": source.name,
        "version": source.policy.version,
        "cases": [item.as_dict() for item in tried],
        "passed": sum(not item.wrong for item in tried),
        "failed": sum(bool(item.wrong) for item in tried),
        "rules_without_case": None if silent is None else list(silent),
    }


def _print(screen: Screen, source: Source, tried: list[Tried], silent: tuple[str, ...] | None) -> None:
    for item in tried:
        if item.wrong:
            case = item.case
            mark = screen.styled("FAILED", "red")
            screen.line(f"{mark} {printable(case.origin)}, case {case.number}: {one_line(case.note)}")
            for wrong in item.wrong:
                screen.line(f"       {one_line(wrong, 400)}")
    passed = sum(not item.wrong for item in tried)
    screen.line(f"{passed} of {len(tried)} cases passed.")
    if isinstance(source.policy, Policy) and silent is not None:
        total = len(source.policy.rules.rules)
        screen.line(f"{total - len(silent)} of {total} rules have decided a case.")
        for name in silent:
            screen.line(f"       no case for the rule {one_line(name)}")
