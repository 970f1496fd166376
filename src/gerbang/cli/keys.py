"""`gerbang keys`: make, list and revoke the keys of the server. A key is shown once and stored nowhere."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from gerbang.cli import options
from gerbang.cli.exits import Exit
from gerbang.cli.meant import the_one
from gerbang.cli.safe_text import one_line
from gerbang.cli.screen import Screen
from gerbang.cli.serve import DEFAULT_KEYS, Keys
from gerbang.cli.table import rows
from gerbang.server.identity import RIGHTS
from gerbang.server.keys import PREFIX, KeyFile, StoredKey


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    group = typer.Typer(help="Make, list and revoke the keys of the server.", no_args_is_help=True)
    group.command("create")(create)
    group.command("list")(list_)
    group.command("revoke")(revoke)
    app.add_typer(group, name="keys")


def create(
    user: Annotated[str, typer.Option(help="Who calls with the key.")],
    tenant: Annotated[str, typer.Option(help="Whose records the key sees.")],
    right: Annotated[list[str], typer.Option("--right", help=f"What it may do: {', '.join(RIGHTS)}.")],
    scope: Annotated[
        list[str] | None, typer.Option("--scope", help="A scope that tools and policies see.")
    ] = None,
    role: Annotated[list[str] | None, typer.Option("--role", help="A role that policies see.")] = None,
    agent: Annotated[str | None, typer.Option(help="The agent that acts for the user.")] = None,
    note: Annotated[str, typer.Option(help="What the key is for.")] = "",
    rate: Annotated[float | None, typer.Option(min=0.001, max=100_000, help="Requests a second.")] = None,
    days: Annotated[float | None, typer.Option(min=0.001, max=36_500, help="Days until it expires.")] = None,
    keys: Keys = DEFAULT_KEYS,
    json: options.Json = False,
) -> int:
    """Make a key and print it. It cannot be shown again."""
    stored, text = KeyFile(Path(keys)).create(
        user=user,
        tenant=tenant,
        rights=right,
        scopes=scope or (),
        roles=role or (),
        agent=agent,
        note=note,
        rate_per_s=rate,
        ttl_s=None if days is None else days * 86_400,
    )
    screen = Screen.standard()
    if json:
        screen.document({"key": text, **_shown(stored)})
    else:
        screen.line(text)
        screen.note(f"Key {stored.id} for {one_line(user)} of {one_line(tenant)}. It is not shown again.")
    return Exit.DONE


def list_(keys: Keys = DEFAULT_KEYS, json: options.Json = False) -> int:
    """List the keys; never the keys themselves."""
    found = KeyFile(Path(keys)).all()
    screen = Screen.standard()
    if json:
        screen.document([_shown(key) for key in found])
    elif not found:
        screen.note(f"There are no keys in {one_line(keys)}. Make one with: gerbang keys create")
    else:
        table = [
            (
                key.id,
                one_line(key.user),
                one_line(key.tenant),
                _state(key),
                ",".join(key.rights),
                one_line(key.note, 40),
            )
            for key in found
        ]
        for line in rows(("key", "user", "tenant", "state", "rights", "note"), table):
            screen.line(line)
    return Exit.DONE


def revoke(
    key: Annotated[str, typer.Argument(metavar="ID", help="Id of the key, or its beginning; see: list")],
    keys: Keys = DEFAULT_KEYS,
    json: options.Json = False,
) -> int:
    """Revoke a key: from now on it opens nothing, in no process."""
    file = KeyFile(Path(keys))
    given = key.removeprefix(f"{PREFIX}_")
    stored = file.revoke(the_one(given, [one.id for one in file.all() if given and one.id.startswith(given)]))
    screen = Screen.standard()
    if json:
        screen.document(_shown(stored))
    else:
        screen.line(f"Revoked {stored.id}.")
    return Exit.DONE


def _state(key: StoredKey) -> str:
    if key.revoked_at is not None:
        return "revoked"
    return "valid" if key.alive(time.time()) else "expired"


def _shown(key: StoredKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "user": key.user,
        "tenant": key.tenant,
        "state": _state(key),
        "rights": list(key.rights),
        "scopes": list(key.scopes),
        "roles": list(key.roles),
        "agent": key.agent,
        "note": key.note,
        "rate_per_s": key.rate_per_s,
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
    }
