"""`gerbang config`: what every setting is, and where its value comes from."""

import os
from typing import Any

import typer
from msgspec.structs import replace

from gerbang.audit.redact import redact
from gerbang.cli import options
from gerbang.cli.exits import Exit
from gerbang.cli.safe_text import one_line
from gerbang.cli.screen import Screen
from gerbang.cli.table import rows
from gerbang.config import KEYS, Loaded, Origin, Settings, load_with_origins
from gerbang.limits import MAX_CALLS, MAX_PARALLEL, RUN_DEADLINE_S
from gerbang.loop.profile import PROFILES
from gerbang.packs.basics.texts import LANGUAGES
from gerbang.runtime.approvals import LASTS_S


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
    loaded = _filled(load_with_origins(flags, os.environ, config))
    screen = Screen.standard()
    if json:
        screen.document({name: _as_dict(loaded, name) for name in KEYS})
        return Exit.DONE
    table = [(name, one_line(_text(loaded, name)), one_line(_origin(loaded.origins[name]))) for name in KEYS]
    for line in rows(("setting", "value", "from"), table):
        screen.line(line)
    return Exit.DONE


def _filled(loaded: Loaded) -> Loaded:
    """Return the settings with what holds where one was left out, and of which profile it is."""
    settings, origins = loaded.settings, dict(loaded.origins)
    left_out = {name: value for name, value in _defaults(settings).items() if getattr(settings, name) is None}
    of_profile = {"max_steps", "max_repeats", "result_max_chars", "policy"} & left_out.keys()
    origins |= {name: Origin("default", f"of the profile {settings.profile}") for name in of_profile}
    return Loaded(replace(settings, **left_out), origins)


def _defaults(settings: Settings) -> dict[str, Any]:
    """Return the defaults that are not in the settings themselves: those of the profile and the library."""
    found: dict[str, Any] = {
        "workspace": f"./{LANGUAGES[settings.lang].workspace}",
        "pin_contracts": False,
        "policy": "voice" if settings.profile == "voice" else "strict",
        "approval_s": int(LASTS_S),
        "api_key_secret": "OPENAI_API_KEY" if settings.model.startswith("openai:") else None,
        "max_calls": MAX_CALLS,
        "max_parallel": MAX_PARALLEL,
        "deadline_s": RUN_DEADLINE_S,
        "tools_enabled": settings.active_tools_file() is not None,
    }
    profile = PROFILES.get(settings.profile)
    if profile is not None:
        limits = settings.limits()
        found["max_steps"] = limits.get("max_steps", profile.max_steps)
        found["max_repeats"] = profile.max_repeats
        found["result_max_chars"] = limits.get("result_max_chars", profile.result_max_chars)
    return found


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
