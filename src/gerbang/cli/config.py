"""`gerbang config`: what every setting is, and where its value comes from."""

import os
from typing import Any

import typer

from gerbang.audit.redact import redact
from gerbang.cli import options
from gerbang.cli.exits import Exit
from gerbang.cli.safe_text import one_line
from gerbang.cli.screen import Screen
from gerbang.cli.table import rows
from gerbang.config import KEYS, Loaded, Origin, load_with_origins


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    group = typer.Typer(help="Show the settings.", no_args_is_help=True)
    group.callback()(_group)
    group.command("show")(show)
    app.add_typer(group, name="config")


def _group() -> None:
    """Show the settings."""


def show(
    model: options.Model = None,
    profile: options.Profile = None,
    lang: options.Lang = None,
    store: options.Store = None,
    workspace: options.Workspace = None,
    knowledge: options.Knowledge = None,
    policy: options.Policy = None,
    secrets: options.Secrets = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """Show every setting, its value, and where that comes from: default, file, environment or flag."""
    flags = {
        "model": model,
        "profile": profile,
        "lang": lang,
        "store": store,
        "workspace": workspace,
        "knowledge": knowledge,
        "policy": policy,
        "secrets": secrets,
    }
    loaded = load_with_origins(flags, os.environ, config)
    screen = Screen.standard()
    if json:
        screen.document({name: _as_dict(loaded, name) for name in KEYS})
        return Exit.DONE
    table = [(name, one_line(_text(loaded, name)), one_line(_origin(loaded.origins[name]))) for name in KEYS]
    for line in rows(("setting", "value", "from"), table):
        screen.line(line)
    return Exit.DONE


def _as_dict(loaded: Loaded, name: str) -> dict[str, Any]:
    origin = loaded.origins[name]
    return {
        "value": _masked(getattr(loaded.settings, name)),
        "source": origin.source,
        "detail": origin.detail,
    }


def _masked(value: Any) -> Any:
    """Return the value without passwords: addresses may hold one, such as that of a database."""
    if isinstance(value, str):
        return redact(value)
    return [redact(item) for item in value] if isinstance(value, tuple) else value


def _text(loaded: Loaded, name: str) -> str:
    value = _masked(getattr(loaded.settings, name))
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    return ", ".join(value) if isinstance(value, list) else str(value)


def _origin(origin: Origin) -> str:
    return f"{origin.source} {origin.detail}".strip()
