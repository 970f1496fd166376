"""`gerbang policy`: try out, explain, lint and replay policies. Nothing is run by any of these."""

import typer

from gerbang.cli import policy_cases, policy_explain, policy_lint, policy_replay


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    group = typer.Typer(help="Try out, explain, lint and replay policies.", no_args_is_help=True)
    for module in (policy_cases, policy_explain, policy_lint, policy_replay):
        module.register(group)
    app.add_typer(group, name="policy")
