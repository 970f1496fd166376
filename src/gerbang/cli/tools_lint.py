"""`gerbang tools lint`: the design review of contracts."""

from typing import Annotated

import typer

from gerbang.cli import options
from gerbang.errors import UsageError

Paths = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[PATH]...",
        help="Contract files, folders of them, JSON files of HTTP tools. Without any: the shipped tools.",
    ),
]
Modules = Annotated[
    list[str] | None,
    typer.Option(
        "--module",
        "--python",
        metavar="MODULE[:NAME]",
        help="A Python module with tools, or a tool or a list of them in it.",
    ),
]
Sarif = Annotated[bool, typer.Option("--sarif", help="Print SARIF 2.1.0 instead of text.")]
FailOn = Annotated[
    str, typer.Option("--fail-on", metavar="LEVEL", help="Mildest level that fails: note, warning or error.")
]


def lint_(
    paths: Paths = None,
    module: Modules = None,
    fail_on: FailOn = "note",
    json: options.Json = False,
    sarif: Sarif = False,
) -> int:
    """Review contracts: names, guidance, schemas, effects. Exit code 1 when something is found."""
    if json and sarif:
        raise UsageError("--json and --sarif are two forms; choose one.")
    from gerbang.cli.lint_report import review  # here: the rules are loaded for this command only

    return review(paths or [], module or [], "json" if json else "sarif" if sarif else "text", fail_on)
