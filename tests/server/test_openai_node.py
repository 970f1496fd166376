"""The OpenAI-compatible endpoint as the official Node client sees it."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from tests.server.running import scripted
from tests.server.test_openai_sdk import SCRIPT

NODE = Path(__file__).resolve().parent / "node"
PLACE = Path(__file__).resolve().parents[2] / ".cache" / "node"
"""Kept between runs: the package is fetched once."""


@pytest.fixture(scope="module")
def installed() -> Path:
    done = subprocess.run(
        [str(NODE / "install.sh"), str(PLACE)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return PLACE


def test_the_node_client(installed: Path) -> None:
    async def main() -> str:
        async with scripted(SCRIPT) as (server, _):
            process = await asyncio.create_subprocess_exec(
                "node",
                str(NODE / "client.mjs"),
                f"{server.url}/v1",
                cwd=installed,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            said, _ = await asyncio.wait_for(process.communicate(), 60)
            return said.decode()

    assert asyncio.run(main()).strip() == "all went well"
