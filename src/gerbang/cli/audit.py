"""`gerbang audit`: check the records, sign their state, pass them on, and erase payloads."""

import typer

from gerbang.cli import audit_checkpoint, audit_erase, audit_export, audit_seal, audit_verify


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    group = typer.Typer(
        help="Check the audit chains, sign checkpoints, export, erase payloads.", no_args_is_help=True
    )
    for module in (audit_verify, audit_checkpoint, audit_export, audit_erase, audit_seal):
        module.add(group)
    app.add_typer(group, name="audit")
