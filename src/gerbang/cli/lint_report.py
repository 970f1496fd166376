"""What `gerbang tools lint` prints: text, JSON or SARIF."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from gerbang import __version__
from gerbang.cli.exits import Exit
from gerbang.cli.lint_sarif import sarif
from gerbang.cli.lint_subjects import subjects
from gerbang.cli.safe_text import one_line
from gerbang.cli.screen import Screen
from gerbang.contract.lint import at_least, lint
from gerbang.contract.lint_rule import LEVELS, Finding, Level
from gerbang.errors import UsageError
from gerbang.values.counting import counted

Form = Literal["text", "json", "sarif"]


def review(paths: Sequence[str], modules: Sequence[str], form: Form, fail_on: str) -> Exit:
    """Look at the contracts and print what is found. FAILED when there is a finding of `fail_on` or graver.

    Raises UsageError for an unknown level, ConfigError and ContractError for what cannot be read.
    """
    level = next((known for known in LEVELS if known == fail_on), None)
    if level is None:
        raise UsageError(f"--fail-on takes note, warning or error, not {one_line(fail_on)!r}.")
    given = subjects(paths, modules)
    found = [finding for subject in given for finding in lint(subject.contracts, subject.places)]
    count = sum(len(subject.contracts) for subject in given)
    screen = Screen.standard()
    if form == "sarif":
        screen.document(sarif(found, __version__))
    elif form == "json":
        findings = [_as_dict(finding) for finding in found]
        screen.document({"tools": count, "counts": _counts(found), "findings": findings})
    else:
        _print(screen, found, count)
    return Exit.FAILED if at_least(found, level) else Exit.DONE


def _print(screen: Screen, found: list[Finding], count: int) -> None:
    for finding in found:
        where = finding.origin if finding.file is None else f"{finding.file}:{finding.line}"
        what = f"{finding.level} {finding.rule}: {finding.tool} {finding.path}"
        screen.line(f"{screen.styled(one_line(where, 200), 'bold')}: {one_line(what, 300)}")
        screen.line(f"    {one_line(finding.message, 400)}")
        screen.line(f"    {one_line(finding.fix, 400)}")
    counts = _counts(found)
    said = ", ".join(counted(counts[level], level) for level in reversed(LEVELS))
    screen.line(f"{counted(count, 'tool')} looked at: {said if found else 'nothing found'}.")


def _counts(found: list[Finding]) -> dict[Level, int]:
    counter = Counter(finding.level for finding in found)
    return {level: counter[level] for level in LEVELS}


def _as_dict(finding: Finding) -> dict[str, object]:
    return {name: getattr(finding, name) for name in finding.__struct_fields__}
