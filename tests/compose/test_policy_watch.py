"""A policy that follows its files: good changes are swapped in whole, bad ones change nothing, loudly."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

import pytest

import gerbang as g
from gerbang.compose.policy import Policy
from gerbang.compose.policy_watch import WatchedPolicy
from gerbang.errors import PolicyError, UsageError
from gerbang.policy.input import PolicyInput

GOOD = "version: 1\nrules:\n  - {{id: r, match: {{tool: a.b.v1}}, decision: {decision}, reason: R}}\n"
CALL = PolicyInput("a.b.v1", g.RiskClass.COMPUTE, {}, g.Principal("ana"))
_POLL_S = 0.01


def written(path: Path, decision: str) -> Path:
    path.write_text(GOOD.format(decision=decision))
    return path


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(_POLL_S)


def test_reload_swaps_and_tells(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    told: list[tuple[str, str]] = []
    path = written(tmp_path / "p.yaml", "deny")
    policy = Policy.watch(path, on_swap=lambda old, new: told.append((old, new)))
    first = policy.version
    assert policy.decide(CALL).decision == "deny"
    assert policy.reload() is False
    written(path, "ask")
    assert policy.decide(CALL).policy_version == first
    with caplog.at_level(logging.WARNING, "gerbang.policy"):
        assert policy.reload() is True
    assert policy.decide(CALL).decision == "ask"
    assert told == [(first, policy.version)]
    assert (policy.status.swaps, policy.status.fault) == (1, None)
    assert policy.version in caplog.text


@pytest.mark.parametrize("bad", ["version: 1\nrules: [{", "version: 1\nruls: []", "", None, b"\xff"])
def test_a_bad_policy_leaves_the_old_one_in_force_loudly(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, bad: str | bytes | None
) -> None:
    told: list[PolicyError] = []
    path = written(tmp_path / "p.yaml", "deny")
    policy = WatchedPolicy(path, on_bad=told.append)
    before = policy.version
    if bad is None:
        path.unlink()
    else:
        path.write_bytes(bad if isinstance(bad, bytes) else bad.encode())
    with caplog.at_level(logging.ERROR, "gerbang.policy"):
        assert policy.reload() is False
    assert (policy.version, policy.decide(CALL).decision) == (before, "deny")
    assert policy.status.fault == str(told[0])
    assert "NOT swapped" in caplog.text
    written(path, "deny")
    assert policy.reload() is False
    assert policy.status.fault is None


def test_it_has_to_load_once(tmp_path: Path) -> None:
    with pytest.raises(PolicyError):
        Policy.watch(tmp_path / "none.yaml")
    with pytest.raises(UsageError, match="poll_s"):
        Policy.watch(written(tmp_path / "p.yaml", "deny"), poll_s=0)


def test_files_are_followed_while_decisions_are_made(tmp_path: Path) -> None:
    async def work() -> None:
        path = written(tmp_path / "p.yaml", "deny")
        told: list[PolicyError] = []
        async with Policy.watch(path, poll_s=_POLL_S, on_bad=told.append) as policy:
            versions = {policy.version: "deny"}
            for decision in ("ask", "allow", "deny"):
                fresh = written(tmp_path / "new", decision)
                wanted = Policy.load(fresh).version
                versions[wanted] = decision
                fresh.replace(path)

                def swapped(wanted: str = wanted) -> bool:
                    got = policy.decide(CALL)
                    assert versions[got.policy_version] == got.decision  # never a mixture
                    return got.policy_version == wanted

                await until(swapped)
            path.write_text("broken: [")
            await until(lambda: bool(told))
            assert policy.decide(CALL).decision == "deny"
            path.unlink()
            await until(lambda: len(told) == 2)
            written(path, "allow")
            await until(lambda: policy.decide(CALL).decision == "allow")
            assert policy.status.fault is None
        written(path, "deny")
        await asyncio.sleep(_POLL_S * 5)
        assert policy.decide(CALL).decision == "allow"  # nobody looks any more

    asyncio.run(work())


def test_a_callback_that_raises_ends_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def fail(old: str, new: str) -> None:
        raise RuntimeError("not my day")

    async def work() -> None:
        path = written(tmp_path / "p.yaml", "deny")
        async with Policy.watch(path, poll_s=_POLL_S, on_swap=fail) as policy:
            written(tmp_path / "new", "ask").replace(path)
            await until(lambda: policy.decide(CALL).decision == "ask")
            written(tmp_path / "new", "allow").replace(path)
            await until(lambda: policy.decide(CALL).decision == "allow")

    asyncio.run(work())
    assert "could not be followed" in caplog.text


def test_a_folder_is_followed(tmp_path: Path) -> None:
    async def work() -> None:
        written(tmp_path / "a.yaml", "allow")
        async with Policy.watch(tmp_path, poll_s=_POLL_S) as policy:
            (tmp_path / "b.yaml").write_text(GOOD.format(decision="deny").replace("id: r", "id: s"))
            await until(lambda: policy.decide(CALL).decision == "deny")
            (tmp_path / "b.yaml").unlink()
            await until(lambda: policy.decide(CALL).decision == "allow")

    asyncio.run(work())


def test_a_gateway_goes_by_the_policy_in_force(tmp_path: Path) -> None:
    async def work() -> None:
        @g.tool(name="a.b.v1", risk="compute")
        def nothing() -> str:
            """Do nothing. Use for tests only. Returns `done`."""
            return "done"

        path = written(tmp_path / "p.yaml", "deny")
        policy = Policy.watch(path)
        async with g.Gateway(tools=[nothing], policy=policy, store="memory:") as gate:
            assert (await gate.call("a.b.v1", {})).status == "error"
            written(path, "allow")
            policy.reload()
            assert (await gate.call("a.b.v1", {})).status == "ok"

    asyncio.run(work())


def test_swaps_are_on_record(tmp_path: Path) -> None:
    async def work() -> None:
        path = written(tmp_path / "p.yaml", "deny")
        policy = Policy.watch(path)
        async with g.Gateway(policy=policy) as gate:
            old = policy.version
            written(path, "ask")
            assert policy.reload() is True
            path.write_text("version: 1\nruls: []")
            assert policy.reload() is False
            await asyncio.sleep(0)
            events = await gate.store.events("switches")
            assert [event.kind for event in events] == ["policy.swapped", "policy.not_swapped"]
            assert old.encode() in events[0].body
            assert policy.version.encode() in events[0].body
        assert policy.recorders == []

    asyncio.run(work())
