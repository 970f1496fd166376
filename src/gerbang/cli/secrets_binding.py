"""`gerbang secrets bind`, `unbind`, `bindings`: who a secret is for, in which tools, and where it may go."""

import os
from pathlib import Path
from typing import Annotated, Final

import typer

from gerbang.cli import options
from gerbang.cli.bindings_file import TABLE, change, written
from gerbang.cli.exits import Exit
from gerbang.cli.safe_text import one_line
from gerbang.cli.screen import Screen
from gerbang.cli.table import rows
from gerbang.config import PREFIX, Origin, load_with_origins
from gerbang.errors import UsageError
from gerbang.values.binding import Binding, read_bindings
from gerbang.values.secret import check_secret

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the secret, such as WEATHER_KEY.")]
Tenants = Annotated[list[str] | None, typer.Option("--tenant", help="Calls of this tenant; may be repeated.")]
Users = Annotated[list[str] | None, typer.Option("--user", help="Calls of this user; may be repeated.")]
Tools = Annotated[
    list[str] | None, typer.Option("--tool", help="This tool, or mail.* for all such; may be repeated.")
]
Origins = Annotated[
    list[str] | None,
    typer.Option("--origin", help="Tools that send to https://HOST or https://HOST:PORT; may be repeated."),
]
_VARIABLE: Final = f"{PREFIX}{TABLE.upper()}"
_LONGEST: Final = 512


def add(group: typer.Typer) -> None:
    """Add the commands to their group."""
    group.command("bind")(bind)
    group.command("unbind")(unbind)
    group.command("bindings")(bindings)


def bind(
    name: Name,
    tenant: Tenants = None,
    user: Users = None,
    tool: Tools = None,
    origin: Origins = None,
    anything: Annotated[
        bool, typer.Option("--any", help="Whatever tool names it may have it, as without a table.")
    ] = False,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """Say what a secret is for. All that is given must fit; what is left out is not asked.

    It is written into the settings file, in the place of what stood there of the secret. Once a file binds
    one secret, those that it does not bind are for no tool.
    """
    check_secret(name)
    made = Binding(
        _texts(tenant, "tenant"), _texts(user, "user"), _texts(tool, "tool"), _texts(origin, "origin")
    )
    if anything == bool(written(made)):
        raise UsageError(
            "Say what the secret is for, with --tenant, --user, --tool or --origin; or say --any, alone."
        )
    read_bindings({name: made})  # says what is wrong with an origin
    path = _file(config)
    former = change(path, name, made)
    screen = Screen.standard()
    if json:
        screen.document(
            {
                "bound": name,
                "binding": written(made),
                "former": None if former is None else written(former),
                "file": str(path),
            }
        )
        return _noted(screen)
    screen.line(f"Bound {name} in {one_line(str(path))}: {_words(made)}.")
    if former is not None:
        screen.note(f"Before: {_words(former)}.")
    return _noted(screen)


def unbind(name: Name, config: options.Config = None, json: options.Json = False) -> int:
    """Take the binding of a secret away: it is then for no tool, as long as the file has a table."""
    check_secret(name)
    path = _file(config)
    former = change(path, name, None)
    screen = Screen.standard()
    if json:
        shown = None if former is None else written(former)
        screen.document({"unbound": name, "former": shown, "file": str(path)})
        return _noted(screen)
    screen.line(f"{name} is for no tool any more, by {one_line(str(path))}.")
    screen.note(f"To have no bindings at all, take [{TABLE}] out of the file.")
    return _noted(screen)


def bindings(config: options.Config = None, json: options.Json = False) -> int:
    """List what each secret is for."""
    loaded = load_with_origins({}, os.environ, config)
    table, origin = read_bindings(loaded.settings.secret_bindings), loaded.origins[TABLE]
    screen = Screen.standard()
    if json:
        shown = None if table is None else {name: written(one) for name, one in sorted(table.items())}
        screen.document({"bindings": shown, "source": origin.source, "detail": origin.detail})
        return Exit.DONE
    if table is None:
        screen.note("Nothing is bound: a tool gets the secrets that its contract names. See: secrets bind")
        return Exit.DONE
    if not table:
        screen.note(f"There is a table, and it is empty: no secret is for any tool ({_where(origin)}).")
        return Exit.DONE
    cells = [
        (name, *(", ".join(map(one_line, named)) or "any" for named in _parts(one)))
        for name, one in sorted(table.items())
    ]
    for line in rows(("secret", "tenants", "users", "tools", "origins"), cells):
        screen.line(line)
    return Exit.DONE


def _file(config: Path | None) -> Path:
    """Return the settings file that is meant. Raises UsageError."""
    named = config or os.environ.get(f"{PREFIX}CONFIG") or None
    if named is None:
        raise UsageError(f"Bindings are in a settings file: name it with --config FILE, or {PREFIX}CONFIG.")
    return Path(named).expanduser()


def _noted(screen: Screen) -> Exit:
    if os.environ.get(_VARIABLE):
        screen.note(f"{_VARIABLE} is set and beats the file. Unset it for the file to count.")
    return Exit.DONE


def _texts(given: list[str] | None, option: str) -> tuple[str, ...]:
    for text in given or ():
        if not text.strip() or len(text) > _LONGEST or not text.isprintable():
            raise UsageError(f"--{option} takes a name of 1 to {_LONGEST} characters that can be printed.")
    return tuple(dict.fromkeys(given or ()))


def _parts(binding: Binding) -> tuple[tuple[str, ...], ...]:
    return binding.tenants, binding.users, binding.tools, binding.origins


def _words(binding: Binding) -> str:
    said = [f"{part} {', '.join(map(one_line, named))}" for part, named in written(binding).items()]
    return "; ".join(said) or "any tool that names it"


def _where(origin: Origin) -> str:
    return one_line(f"{origin.source} {origin.detail}".strip())
