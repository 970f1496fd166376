"""`gerbang audit seal-key`: make the key that working state is sealed with, or a newer one."""

from typing import Annotated

import typer

from gerbang.adapters.stores.seal_keys import new_seal_key
from gerbang.cli import options
from gerbang.cli.exits import Exit
from gerbang.cli.safe_text import one_line
from gerbang.cli.screen import Screen


def add(group: typer.Typer) -> None:
    """Add the command to its group."""
    group.command("seal-key")(seal_key)


def seal_key(
    address: Annotated[str, typer.Argument(metavar="file:PATH", help="The file of seal keys.")],
    json: options.Json = False,
) -> int:
    """Make a file of seal keys, or add a key to one: the newest seals, all of them open."""
    name = new_seal_key(address)
    screen = Screen.standard()
    if json:
        screen.document({"key": name, "file": address.removeprefix("file:")})
    else:
        screen.line(
            f"New seal key {name} in {one_line(address)}. Without this file nothing it sealed is readable."
        )
    return Exit.DONE
