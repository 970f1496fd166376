"""A run that is gone on with at a terminal has the rights that it had, unless others are named."""

import asyncio
from pathlib import Path

import pytest

import gerbang as g
from tests.cli.terminal import gerbang

TOOLS = '''

@g.tool(name="vault.send.v1", risk="external_communication", scopes=["vault"])
def send_away(to: str) -> str:
    """Send what only few may. Returns `sent`."""
    return "sent"


tools.append(send_away)
'''


@pytest.mark.parametrize(
    ("had", "named", "code", "said"),
    [
        (("vault",), (), 0, "sent"),
        (("vault",), ("--scope", "vault"), 0, "sent"),
        (("vault",), ("--scope", "other"), 1, "vault"),
        (("vault",), ("--role", "clerk"), 1, "vault"),  # other rights are named: these are all of them
    ],
)
def test_rights(place: Path, had: tuple[str, ...], named: tuple[str, ...], code: int, said: str) -> None:
    with (place / "mytools.py").open("a") as file:
        file.write(TOOLS)
    store = f"sqlite:{place / 'own.db'}"

    async def ask() -> None:
        @g.tool(name="vault.send.v1", risk="external_communication", scopes=["vault"])
        def send_away(to: str) -> str:
            """Send what only few may. Returns `sent`."""
            return "sent"

        who = g.Principal("ana", "acme", scopes=had, agent="bot")
        async with g.Gateway([send_away], store=store) as gate:
            asked = await gate.call("vault.send.v1", {"to": "bo"}, run_id="r", principal=who, alone=True)
            assert asked.approval_id is not None, asked
            await gate.approve(asked.approval_id, by=g.Principal("boss", "acme"))

    asyncio.run(ask())
    done = gerbang("runs", "resume", "r", "--python", "mytools:tools", "--store", store, *named, cwd=place)
    assert (done.code, said in (done.out or done.err)) == (code, True), (done.out, done.err)
