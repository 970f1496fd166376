"""A secret that was fetched once is in no later result, whichever tool gives it away."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.street import ALLOW_ALL, run

import gerbang as g

VALUE = 'kanarie "gelb"/1+2=3'


@g.tool(name="mail.check.v1", risk="compute", secrets=("CANARY",))
async def check(context: g.CallContext) -> int:
    """Use the secret. Returns how long it is."""
    return len(context.secret("CANARY"))


def told(how: str) -> Any:
    match how:
        case "text":
            return f"CANARY is {VALUE}."
        case "json in text":
            return json.dumps({"a": VALUE})
        case "base64":
            return base64.b64encode(f"key={VALUE};".encode()).decode()
        case "deep":
            return {"a": [1, {VALUE: VALUE}]}
        case "error":
            raise g.ToolError(f"no {VALUE}", suggested_fix=f"Use {VALUE}", effect="none")
        case _:
            return "nothing of the kind"


@g.tool(name="file.read.v1", risk="compute")
async def read(how: str) -> Any:
    """Read a file."""
    return told(how)


@g.tool(name="file.load.v1", risk="compute")
def load(how: str) -> Any:
    """Read a file, in a thread."""
    return told(how)


@pytest.mark.parametrize("tool", ["file.read.v1", "file.load.v1"])
@pytest.mark.parametrize("how", ["text", "json in text", "base64", "deep", "error"])
def test_another_tool_cannot_give_a_fetched_secret_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str, how: str
) -> None:
    monkeypatch.setenv("CANARY", VALUE)

    async def work() -> g.Result:
        store = f"sqlite:{tmp_path / 'records.db'}"
        async with g.Gateway([check, read, load], policy=ALLOW_ALL, store=store) as gate:
            assert (await gate.call("mail.check.v1", {})).value == len(VALUE)
            return await gate.call(tool, {"how": how})

    out = run(work())
    assert out.status == ("error" if how == "error" else "ok")
    said = "\n".join([repr(out), out.for_model, repr(out.value)])
    assert "[redacted]" in said.lower()
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir()).decode("utf-8", "replace")
    for text in (said, kept):
        assert "kanarie" not in text
        assert base64.b64encode(f"key={VALUE};".encode()).decode()[:20] not in text


def test_a_result_without_it_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY", VALUE)

    async def work() -> list[Any]:
        async with g.Gateway([check, read], policy=ALLOW_ALL) as gate:
            before = await gate.call("file.read.v1", {"how": "text"}, key="before")
            await gate.call("mail.check.v1", {})
            return [before.value, (await gate.call("file.read.v1", {"how": "none"})).value]

    assert run(work()) == [f"CANARY is {VALUE}.", "nothing of the kind"]
