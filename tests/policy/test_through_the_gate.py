"""Policies that look at a run's past, through a real gateway and store."""

import asyncio
from typing import Any

import gerbang as g

POLICY = g.Policy.from_rules(
    [
        {
            "id": "no-mail-after-customers",
            "match": {"class": "external_communication", "history": {"after": {"tool": "crm.*"}}},
            "decision": "deny",
            "reason": "CUSTOMER_DATA_SEEN",
        },
        {"id": "mail", "match": {"tool": "mail.*"}, "decision": "allow", "reason": "MAIL"},
        {
            "id": "commit",
            "match": {
                "tool": "git.commit.v1",
                "history": {"after": {"tool": "test.*", "since": {"tool": "repo.patch.v1"}}},
            },
            "decision": "allow",
            "reason": "TESTED",
        },
        {
            "id": "untested",
            "match": {
                "tool": "git.commit.v1",
                "history": {"not_after": {"tool": "test.*", "since": {"tool": "repo.patch.v1"}}},
            },
            "decision": "deny",
            "reason": "RUN_THE_TESTS_FIRST",
        },
        {"id": "work", "match": {"tool": ["repo.*", "test.*"]}, "decision": "allow", "reason": "WORK"},
    ]
)


@g.tool(name="crm.read.v1", risk="read_internal")
def read() -> str:
    """Read a customer. Use for tests only. Returns `customer`."""
    return "customer"


@g.tool(name="mail.send.v1", risk="external_communication")
def send() -> str:
    """Send a mail. Use for tests only. Returns `sent`."""
    return "sent"


@g.tool(name="repo.patch.v1", risk="write_internal")
def patch() -> str:
    """Change a file. Use for tests only. Returns `patched`."""
    return "patched"


@g.tool(name="test.unit.v1", risk="code_execution")
def run_tests(passes: bool) -> str:
    """Run the tests. Use for tests only. Returns `passed`."""
    if not passes:
        raise g.ToolError("two tests failed")
    return "passed"


@g.tool(name="git.commit.v1", risk="write_internal")
def commit() -> str:
    """Commit. Use for tests only. Returns `committed`."""
    return "committed"


TOOLS = [read, send, patch, run_tests, commit]


def outcomes(*calls: tuple[str, str, dict[str, Any]]) -> list[str]:
    """Make the calls, each as run and tool, and return what came of each."""

    async def work() -> list[str]:
        async with g.Gateway(tools=TOOLS, policy=POLICY, store="memory:") as gate:
            found = []
            for step, (run, tool, arguments) in enumerate(calls):
                out = await gate.call(tool, arguments, run_id=run, step_id=step)
                found.append("ok" if out.error is None else out.error.error_code)
            return found

    return asyncio.run(work())


def test_after_customer_data_no_mail_in_this_run() -> None:
    assert outcomes(
        ("r1", "mail.send.v1", {}),
        ("r1", "crm.read.v1", {}),
        ("r1", "mail.send.v1", {}),
        ("r2", "mail.send.v1", {}),
    ) == ["ok", "ok", "CUSTOMER_DATA_SEEN", "ok"]


def test_commits_need_tests_after_the_last_change() -> None:
    tests = {"passes": True}
    assert outcomes(
        ("r", "repo.patch.v1", {}),
        ("r", "git.commit.v1", {}),
        ("r", "test.unit.v1", {"passes": False}),
        ("r", "git.commit.v1", {}),
        ("r", "test.unit.v1", tests),
        ("r", "git.commit.v1", {}),
        ("r", "repo.patch.v1", {}),
        ("r", "git.commit.v1", {}),
    ) == [
        "ok",
        "RUN_THE_TESTS_FIRST",
        "TOOL_FAILED",
        "RUN_THE_TESTS_FIRST",
        "ok",
        "ok",
        "ok",
        "RUN_THE_TESTS_FIRST",
    ]


def test_a_read_that_still_runs_counts_for_its_siblings() -> None:
    begun = asyncio.Event()

    @g.tool(name="crm.slow.v1", risk="read_internal")
    async def slow() -> str:
        """Read slowly. Use for tests only. Returns `customer`."""
        begun.set()
        await asyncio.sleep(0.05)
        return "customer"

    async def work() -> str:
        async with g.Gateway(tools=[slow, send], policy=POLICY, store="memory:") as gate:
            reading = asyncio.ensure_future(gate.call("crm.slow.v1", {}, run_id="r", step_id=1))
            await begun.wait()
            out = await gate.call("mail.send.v1", {}, run_id="r", step_id=2)
            await reading
            return "ok" if out.error is None else out.error.error_code

    assert asyncio.run(work()) == "CUSTOMER_DATA_SEEN"
