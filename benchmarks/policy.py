"""How long does one decision by rules take, beside other rule engines for tool calls?

`python benchmarks/policy.py` prints a table. Peers are measured when their environment is there:
`python -m venv .bench/policy-peers && .bench/policy-peers/bin/pip install tool-call-guard==0.2.0
agent-os-kernel==3.7.0 agent-governance-toolkit==4.1.0`.

"All looked at" means rules for the tool that is called, of which every condition has to be asked; they ask
six different things (an argument, a number, a prefix and a role, the user, the purpose, the run's history).
Which rules are for a tool is worked out once, at its first call: patterns over names then cost nothing.
"""

import json
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gerbang.compose.policy import Policy
from gerbang.policy.bundle import compile_rules
from gerbang.policy.history import History
from gerbang.policy.input import PolicyInput
from gerbang.policy.tool_facts import make_tool_facts
from gerbang.values import Principal, RiskClass

HERE = Path(__file__).resolve().parent
PEERS = HERE.parent / ".bench" / "policy-peers" / "bin" / "python"
ROUNDS, SECONDS = 15, 0.02

MAIL = make_tool_facts("mail.send.v1", "external_communication", group="mail")
ANA = Principal("ana", "acme", roles={"staff"})


def call(history: History) -> PolicyInput:
    return PolicyInput(
        "mail.send.v1",
        RiskClass.EXTERNAL_COMMUNICATION,
        {"to": "ana@example.org", "count": 5, "subject": "hello"},
        ANA,
        purpose="support",
        info=MAIL,
        history=history,
    )


def history(calls: int) -> History:
    return History.of((MAIL, "ok", "") for _ in range(calls))


def looked_at(number: int) -> Any:
    """Rules of which each is asked and none matches."""
    matches: list[Callable[[int], dict[str, Any]]] = [
        lambda n: {"arguments": {"to": f"p{n}@example.net"}},
        lambda n: {"arguments": {"count": {"gt": 100 + n}}},
        lambda n: {"arguments": {"to": {"prefix": f"q{n}"}}, "roles": "staff"},
        lambda n: {"user": [f"user{n}"]},
        lambda n: {"purpose": f"purpose{n}"},
        lambda n: {"history": {"after": {"group": f"group{n}"}}},
    ]
    return compile_rules(
        {
            "version": 1,
            "rules": [
                {
                    "id": f"r{n}",
                    "match": {"tool": "mail.*", **matches[n % len(matches)](n)},
                    "decision": "deny",
                    "reason": "NO",
                }
                for n in range(number)
            ],
        },
        "bench",
    )


def elsewhere(number: int) -> Any:
    """Rules for other tools, and one for this."""
    rules = [
        {"id": f"r{n}", "match": {"tool": f"tool{n}.*"}, "decision": "allow", "reason": "YES"}
        for n in range(number - 1)
    ]
    rules.append({"id": "mail", "match": {"tool": "mail.*"}, "decision": "allow", "reason": "YES"})
    return compile_rules({"version": 1, "rules": rules}, "bench")


def micros(work: Callable[[], Any]) -> float:
    """Return the median over rounds of the time of one call, in microseconds of this process's CPU."""
    work()
    found = []
    for _ in range(ROUNDS):
        calls, began = 0, time.process_time()
        while (spent := time.process_time() - began) < SECONDS:
            for _ in range(50):
                work()
            calls += 50
        found.append(spent / calls * 1e6)
    return statistics.median(found)


def ours() -> dict[str, float]:
    fresh, long = call(history(0)), call(history(10_000))
    twenty, hundred, others = looked_at(20), looked_at(100), elsewhere(100)
    strict = Policy.default()
    tool = MAIL
    past = history(10_000)
    return {
        "shipped strict": micros(lambda: strict.decide(fresh)),
        "20 rules, all looked at": micros(lambda: twenty.decide(fresh)),
        "100 rules, all looked at": micros(lambda: hundred.decide(fresh)),
        "100 rules, all looked at, after 10,000 calls": micros(lambda: hundred.decide(long)),
        "100 patterns over tool names, the last matches": micros(lambda: others.decide(fresh)),
        "making the input": micros(lambda: call(past)),
        "noting a call in the history": micros(
            lambda: past.note_finished(past.note_started(tool), tool, "ok")
        ),
        "the whole document as JSON values, 50 past calls": micros(long.document),
    }


def peers() -> dict[str, float]:
    if not PEERS.exists():
        return {}
    done = subprocess.run(
        [str(PEERS), "-P", str(HERE / "policy_peers.py")], capture_output=True, text=True, check=False
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {}
    return found


BOUNDS = {"20 rules, all looked at": 8, "100 rules, all looked at": 15}


def table() -> str:
    """Return the table as Markdown."""
    lines = ["| rules | CPU of one decision, median |", "| --- | ---: |"]
    own, found = ours(), peers()
    lines += [f"| {name} | {took:.1f} µs |" for name, took in own.items()]
    lines += [f"| peer: {name} | {took:.1f} µs |" for name, took in found.items()]
    kept = [
        f"{name}: at most {bound} µs, {'kept' if own[name] <= bound else 'MISSED'}"
        for name, bound in BOUNDS.items()
    ]
    lines += ["", f"Bounds, {'; '.join(kept)}."]
    note = "" if found else "\n\nPeers were not measured: their environment is not installed."
    return "\n".join(lines) + note


if __name__ == "__main__":
    print(table())
