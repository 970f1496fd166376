"""The whole HTTP surface against its own document, by a fuzzer that knows neither: schemathesis.

It has an environment of its own, for it wants another jsonschema-rs than the program. What it tries is the
same in every run; with other seeds and more examples it is run by hand.
"""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.server.running import key, scripted

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PLACE = ROOT / ".cache" / "schemathesis"
"""Kept between runs: the packages are fetched once."""
RIGHTS = ("calls", "runs", "approvals", "audit", "tools", "metrics", "admin")
OPTIONS = (
    *("--phases", "examples,coverage,fuzzing,stateful", "--max-examples", "2", "--workers", "2"),
    *("--generation-deterministic", "--continue-on-failure"),
    *("--suppress-health-check", "all", "--request-timeout", "60", "--warnings", "off", "--no-color"),
)


class Always(dict[str, Any]):
    """A script that has an answer to everything."""

    def __missing__(self, said: str) -> list[str]:
        return ["Fine."]


@pytest.fixture(scope="module")
def fuzzer() -> Path:
    requirements = ROOT / "requirements" / "schemathesis.txt"
    command = [str(HERE / "install_schemathesis.sh"), sys.executable, str(requirements), str(PLACE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return PLACE / "bin" / "schemathesis"


def test_nothing_is_found(fuzzer: Path, tmp_path: Path) -> None:
    async def main() -> str:
        token = key(tmp_path, *RIGHTS)
        free = ("--rate", "1000000", "--burst", "1000000")
        async with scripted({}, *free, folder=tmp_path) as (server, model):
            model.script = Always()
            process = await asyncio.create_subprocess_exec(
                *(
                    str(fuzzer),
                    "--config-file",
                    str(HERE / "schemathesis.toml"),
                    "run",
                    f"{server.url}/openapi.json",
                    *OPTIONS,
                ),
                *("--header", f"Authorization: Bearer {token}"),
                cwd=tmp_path,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            said, _ = await process.communicate()
            assert "request broke" not in server.log()
            found = "\n".join(line[:400] for line in said.decode().splitlines())
            return "" if process.returncode == 0 else found[-20_000:]

    assert asyncio.run(main()) == ""
