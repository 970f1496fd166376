"""Records commit to payloads under the run's salt, and erasing a run leaves a whole chain and no payload."""

from pathlib import Path

import msgspec
import pytest

import gerbang as g
from gerbang.audit.chain import verify
from gerbang.audit.commitments import Commitments
from gerbang.compose.auditing import check_run
from gerbang.testing import ManualClock, ScriptedModel
from gerbang.values.record import ERASED

from .street import ALLOW_ALL, Effects, bodies, code, run, toolbox

ANA = g.Principal("ana", team="red", delegated_by=("budi",))


@pytest.fixture(params=["memory", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory:" if request.param == "memory" else f"sqlite:{tmp_path / 'g.db'}"


def test_every_hash_is_a_commitment_under_the_salt_of_the_run(url: str) -> None:
    async def work() -> None:
        async with g.Gateway(toolbox(Effects()), policy=ALLOW_ALL, store=url) as gate:
            model = ScriptedModel([[("web.get.v1", {"page": "bulan"})], "jawab"])
            result = await g.Agent(model, gate).run("tanya", principal=ANA)
            row = await gate.store.run(result.run_id)
            (call,) = await gate.store.calls(result.run_id)
            assert row is not None
            marks = Commitments(row.salt)
            began, _, intent, done, _, ended = await bodies(gate.store, result.run_id)
            assert began["prompt_hash"] == marks.of(b"tanya")
            assert intent["input_hash"] == marks.of(call.arguments)
            assert done["output_hash"] == marks.of(call.result)
            assert ended["answer_hash"] == marks.of(row.answer.encode())
            assert (intent["user"], intent["team"], intent["delegated_by"]) == ("ana", "red", ["budi"])
            assert (done["taint"], "tainted" in intent) == ("external", False)
            assert (await check_run(gate.store, result.run_id)).whole

    run(work())


def test_a_run_keeps_its_salt_over_a_restart(tmp_path: Path) -> None:
    async def work() -> None:
        salts = []
        for step in (1, 2):
            async with g.Gateway(
                toolbox(Effects()), policy=ALLOW_ALL, store=f"sqlite:{tmp_path / 'g.db'}"
            ) as gate:
                await gate.call("docs.read.v1", {"name": "a"}, run_id="r", step_id=step)
                row = await gate.store.run("r")
                assert row is not None
                salts.append(row.salt)
                last = (await bodies(gate.store, "r"))[-2]
                assert last["input_hash"] == Commitments(row.salt).of(b'{"name":"a"}')
                assert (await check_run(gate.store, "r")).whole
        assert salts[0] == salts[1]

    run(work())


def test_erasing(url: str) -> None:
    async def work() -> None:
        effects = Effects()
        async with g.Gateway(toolbox(effects), policy=ALLOW_ALL, store=url) as gate:
            await gate.call("docs.store.v1", {"name": "pelangi"}, run_id="r", step_id=1, principal=ANA)
            before = await gate.store.events("r")
            event_id = await gate.erase("r", by=g.Principal("dpo"), reason="asked for")
            after = await gate.store.events("r")
            assert event_id == f"r/{after[-1].seq}"
            assert [row.digest for row in after[:-1]] == [row.digest for row in before]
            assert verify(after) is None
            assert not any(b"pelangi" in row.body for row in after)
            assert msgspec.json.decode(after[-1].body)["by"] == "dpo"
            row = await gate.store.run("r")
            assert row is not None
            assert row.salt == ERASED
            again = await gate.call(
                "docs.store.v1", {"name": "pelangi"}, run_id="r", step_id=1, principal=ANA
            )
            assert code(again) == "KEY_REUSED"  # what it was called with is not known any more
            assert effects.count("pelangi") == 1
            with pytest.raises(g.UsageError, match="erased before"):
                await gate.erase("r", by=ANA)
            with pytest.raises(g.UsageError, match="no run"):
                await gate.erase("r", by=g.Principal("eve", "other"))
        if url != "memory:":
            assert b"pelangi" not in Path(url.removeprefix("sqlite:")).read_bytes()

    run(work())


def test_what_is_not_over_is_not_erased(url: str) -> None:
    async def work() -> None:
        async with g.Gateway(toolbox(Effects()), store=url) as gate:
            asked = await gate.call("mail.send.v1", {"to": "ana"}, run_id="r")
            assert asked.status == "pending"
            with pytest.raises(g.UsageError, match="PLANNED"):
                await gate.erase("r", by=g.Principal("ana"))
            model = ScriptedModel([[("mail.send.v1", {"to": "ana"})], "x"])
            waiting = await g.Agent(model, gate).run("x")
            with pytest.raises(g.UsageError, match="pending_approval"):
                await gate.erase(waiting.run_id, by=g.Principal("ana"))

    run(work())


def test_pruning_takes_what_is_old_and_over(url: str) -> None:
    async def work() -> None:
        clock = ManualClock(1_000_000.0)
        async with g.Gateway(toolbox(Effects()), store=url, clock=clock) as gate:
            for name in ("a", "b", "c"):
                await gate.call("docs.read.v1", {"name": "x"}, run_id=name)
                clock.advance(100)
            await gate.call("mail.send.v1", {"to": "ana"}, run_id="b", step_id=2)
            await gate.call("docs.read.v1", {"name": "y"}, run_id="b2")
            done = await gate.prune(150, by=g.Principal("cron"))
            assert done.erased == ("a",)
            assert done.left == ()
            assert (await gate.prune(150, by=g.Principal("cron"))).erased == ()
            clock.advance(140)
            await gate.call("docs.read.v1", {"name": "z"}, run_id="c", step_id=2)
            clock.advance(20)
            done = await gate.prune(150, by=g.Principal("cron"))
            assert done.erased == ("b2",)  # c was gone on with
            assert [name for name, _ in done.left] == ["b"]  # it waits for a person
            with pytest.raises(g.UsageError):
                await gate.prune(-1, by=g.Principal("cron"))

    run(work())
