"""A folder with a workspace and a module of tools, where the program is started."""

from pathlib import Path

import pytest

TOOLS = '''
import asyncio
from pathlib import Path

import gerbang as g


@g.tool(name="mail.send.v1", risk="external_communication")
def send(to: str, text: str) -> str:
    """Send a mail. Use when the user asks for a mail to be sent. Returns `sent`."""
    with Path("outbox.txt").open("a") as file:
        file.write(f"{to}: {text}\\n")
    return "sent"


@g.tool(name="slow.wait.v1", risk="compute")
async def wait(seconds: float) -> str:
    """Wait. Use for tests only. Returns `waited`."""
    Path("started.txt").write_text("yes")
    await asyncio.sleep(seconds)
    Path("ended.txt").write_text("yes")
    return "waited"


@g.tool(name="broken.fail.v1", risk="compute")
def fail() -> str:
    """Fail. Use for tests only. Returns nothing."""
    raise RuntimeError("the password is hunter2")


@g.tool(name="hostile.text.v1", risk="read_external")
def hostile() -> str:
    """Return text that would control a terminal. Use for tests only."""
    return "before \\x1b[2J\\x1b]0;owned\\x07 after"


tools = [send, wait, fail, hostile]
'''


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with `workspace/notes.txt` and the module `mytools`."""
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "notes.txt").write_text("Buy rice.\nCall Ana on Friday.\n")
    (tmp_path / "mytools.py").write_text(TOOLS)
    return tmp_path
