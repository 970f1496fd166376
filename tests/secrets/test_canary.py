"""A planted secret is nowhere but in the body of the tool that asked for it."""

import base64
import json
import pickle
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from tests.cli.terminal import gerbang
from tests.runtime.street import ALLOW_ALL, bodies, code, run

import gerbang as g

VALUE = 'kanarie "gelb"/1+2=3 ä'
RAW = VALUE.encode()
WRITINGS = {
    "plain": VALUE,
    "json": json.dumps(VALUE)[1:-1],
    "percent": quote(VALUE, safe=""),
    "base64": base64.b64encode(RAW).decode().rstrip("="),
    "base64url": base64.urlsafe_b64encode(RAW).decode().rstrip("="),
    "hex": RAW.hex(),
}
# The last characters of base64 and what stands before them may stay: they hold less than a byte of it.
NEEDLES = [text[: len(text) - 3].encode() for text in WRITINGS.values()] + [b"kanarie"]
seen: list[str] = []


@g.tool(name="echo.sync.v1", risk="compute", secrets=("CANARY",))
def echo(how: str, context: g.CallContext) -> Any:
    """Give the secret away. Use for tests only."""
    return give(how, context)


@g.tool(name="echo.async.v1", risk="compute", secrets=("CANARY",))
async def echo_async(how: str, context: g.CallContext) -> Any:
    """Give the secret away. Use for tests only."""
    return give(how, context)


def give(how: str, context: g.CallContext) -> Any:
    value = context.secret("CANARY")
    seen.append(value)
    match how:
        case "key":
            return {value: [1, {"deep": f"<{value}>"}]}
        case "tool error":
            raise g.ToolError(f"failed with {value}", code=value, suggested_fix=value)
        case "long error":
            raise g.ToolError("x" * 1_990 + value)
        case "crash":
            raise ValueError(value)
        case "context":
            return [repr(context), str(context)]
        case "other":
            return context.secret("OTHER")
        case _:
            return f"before {WRITINGS[how]} after"


TOOLS = [echo, echo_async]
HOW = [*WRITINGS, "key", "tool error", "long error", "crash", "context", "other"]


@pytest.mark.parametrize("name", ["echo.sync.v1", "echo.async.v1"])
def test_the_canary_is_nowhere(tmp_path: Path, name: str) -> None:
    async def work() -> list[bytes]:
        found: list[bytes] = []
        store = f"sqlite:{tmp_path / 'g.db'}"
        async with g.Gateway(TOOLS, policy=ALLOW_ALL, store=store, secrets={"CANARY": VALUE}) as gate:
            for step, how in enumerate(HOW):
                result = await gate.call(name, {"how": how}, run_id="r", step_id=step)
                found.append(json.dumps(result.as_dict(), ensure_ascii=False).encode())
                if how in WRITINGS:
                    assert "[redacted]" in result.value
            found.append(repr(await bodies(gate.store, "r")).encode())
            found.append(repr(gate.tools()).encode())
        return found

    seen.clear()
    found = run(work())
    assert seen == [VALUE] * len(HOW)
    found += [path.read_bytes() for path in tmp_path.iterdir()]
    for text in found:
        for needle in NEEDLES:
            assert needle not in text, needle


@pytest.mark.parametrize(
    ("secrets", "expected"),
    [({}, "SECRET_MISSING"), ({"CANARY": "abc"}, "SECRET_TOO_SHORT"), ({"CANARY": VALUE}, "ok")],
)
def test_without_a_value_nothing_runs(secrets: dict[str, str], expected: str) -> None:
    async def work() -> g.Result:
        async with g.Gateway(TOOLS, policy=ALLOW_ALL, secrets=secrets) as gate:
            return await gate.call("echo.sync.v1", {"how": "plain"})

    seen.clear()
    result = run(work())
    assert code(result) == expected
    assert len(seen) == (expected == "ok")


def test_a_context_cannot_be_written_or_copied() -> None:
    caught: list[g.CallContext] = []

    @g.tool(name="keep.context.v1", risk="compute", secrets=("CANARY",))
    def keep(context: g.CallContext) -> str:
        """Keep the context. Use for tests only."""
        caught.append(context)
        return "kept"

    async def work() -> None:
        async with g.Gateway([keep], policy=ALLOW_ALL, secrets={"CANARY": VALUE}) as gate:
            await gate.call("keep.context.v1", {})

    run(work())
    for write in (msgspec.json.encode, pickle.dumps):
        with pytest.raises(TypeError):
            write(caught[0])
    assert VALUE not in repr(caught[0])


def test_the_contract_holds_the_names() -> None:
    def body(context: g.CallContext) -> str:
        """Do nothing. Use for tests only."""
        return ""

    def made(*names: str) -> g.Contract:
        return g.tool(name="a.b.v1", risk="compute", secrets=names)(body).contract

    assert made("B", "A", "B").secrets == ("A", "B")
    assert len({made("A").digest, made("B").digest, made().digest}) == 3
    with pytest.raises(g.ContractError, match="cannot name a secret"):
        made("A B")


def test_the_command_line(tmp_path: Path) -> None:
    env = {"GERBANG_SECRETS": "file:s", "GERBANG_SECRETS_PASSPHRASE": "four words of mine"}
    (tmp_path / "mytools.py").write_text(
        "import os, subprocess, gerbang as g\n"
        "@g.tool(name='leak.v1', risk='compute', secrets=('CANARY',))\n"
        "def leak(context: g.CallContext) -> list:\n"
        "    'Leak. Use for tests only.'\n"
        "    look = 'env; cat /proc/$PPID/environ; echo; ulimit -S -c'\n"
        "    env = subprocess.run(['sh', '-c', look], capture_output=True, text=True).stdout\n"
        "    told = ['four words' in env, context.secret('CANARY') in env, env.splitlines()[-1].strip()]\n"
        "    return [context.secret('CANARY'), *told]\n"
    )
    steps: list[tuple[list[str], str, int, str]] = [
        (["secrets", "list"], "", 2, "There is no file of secrets"),
        (["secrets", "set", "CANARY"], VALUE + "\n", 0, "Set CANARY in file:s"),
        (["secrets", "set", "CANARY", "--json"], VALUE, 0, '"set":"CANARY"'),
        (["secrets", "list", "--json"], "", 0, '["CANARY"]'),
        (["secrets", "set", "1A"], VALUE, 2, "cannot name a secret"),
        (["secrets", "set", "SHORT"], "abc", 2, "has 3 characters"),
        (["secrets", "set", "CANARY", "--secrets", "env:"], VALUE, 2, "--secrets file:PATH"),
        (["call", "leak.v1", "--python", "mytools:leak"], "", 0, '["[redacted]", false, false, "0"]'),
        (["secrets", "rm", "CANARY"], "", 0, "Removed CANARY"),
        (["secrets", "rm", "CANARY"], "", 2, "There is no secret CANARY"),
    ]
    for arguments, text, ends, words in steps:
        ran = gerbang(*arguments, cwd=tmp_path, text=text, env=env)
        assert ran.code == ends, (arguments, ran.out, ran.err)
        assert words in ran.out + ran.err
        for needle in NEEDLES:
            assert needle not in (ran.out + ran.err).encode()
    wrong = gerbang("secrets", "list", cwd=tmp_path, env={**env, "GERBANG_SECRETS_PASSPHRASE": "not these"})
    assert (wrong.code, "does not open" in wrong.err) == (2, True)
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert not any(needle in path.read_bytes() for needle in NEEDLES)
