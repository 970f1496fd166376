"""Names and texts of a store, which callers, models and tools chose, control no terminal."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gerbang as g
from gerbang.cli.safe_text import printable

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eevil\u202c\u200b\u2028\x85\ufeff\x7f"
RUN = f"r {HOSTILE}"
WHO = g.Principal(f"ana{HOSTILE}", "local")


@g.tool(name="mail.send.v1", risk="external_communication")
async def send(to: str) -> str:
    """Send."""
    return f"sent to {to}"


@g.tool(name="web.read.v1", risk="read_external")
async def read(address: str) -> dict[str, str]:
    """Read."""
    return {address: HOSTILE}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")

    async def fill() -> None:
        async with g.Gateway([send, read], store=f"sqlite:{folder / 'store.db'}") as gate:
            for tool, argument in (("mail.send.v1", "to"), ("web.read.v1", "address"), (HOSTILE, "x")):
                await gate.call(tool, {argument: HOSTILE}, principal=WHO, run_id=RUN)
            waiting = await gate.call("mail.send.v1", {"to": f"{HOSTILE}2"}, principal=WHO)
            assert waiting.approval_id is not None
            await gate.refuse(waiting.approval_id, by=WHO, reason=HOSTILE)

    asyncio.run(fill())
    return folder


def said(folder: Path, *arguments: str) -> Any:
    command = [sys.executable, "-c", "import gerbang.cli; gerbang.cli.main()", *arguments]
    command += ["--store", f"sqlite:{folder / 'store.db'}"]
    return subprocess.run(command, capture_output=True, timeout=60, cwd=folder, check=False)


@pytest.mark.parametrize(
    "arguments",
    [
        ("runs", "list"),
        ("runs", "list", "--json"),
        ("runs", "show", RUN),
        ("runs", "show", RUN, "--json"),
        ("runs", "cost"),
        ("approvals", "list"),
        ("approvals", "list", "--state", "refused"),
        ("audit", "export", RUN),
        ("audit", "export", RUN, "--format", "cloudevents"),
        ("audit", "export", RUN, "--format", "calls"),
        ("audit", "export", RUN, "--format", "receipts"),
        ("audit", "verify"),
    ],
    ids=lambda given: " ".join(given).replace(RUN, "RUN"),
)
def test_nothing_that_a_terminal_obeys_is_printed(kept: Path, arguments: tuple[str, ...]) -> None:
    done = said(kept, *arguments)
    assert done.returncode == 0, done.stderr
    text = (done.stdout + done.stderr).decode()
    assert text == printable(text)
    assert "\x1b" not in text


def test_an_export_says_the_same_in_other_letters(kept: Path) -> None:
    lines = said(kept, "audit", "export", RUN).stdout.decode().splitlines()
    assert {json.loads(line)["run_id"] for line in lines} == {RUN}
