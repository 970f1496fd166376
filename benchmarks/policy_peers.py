"""The peers of `policy.py`, in their own environment. Prints one JSON object on the last line."""

import json
import logging
import statistics
import time
from collections.abc import Callable
from typing import Any

ROUNDS, SECONDS = 15, 0.02
ARGUMENTS = {"to": "ana@example.org", "count": 5, "subject": "hello"}


def micros(work: Callable[[], Any]) -> float:
    """The same as in `policy.py`: this file runs without Gerbang."""
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


def guard() -> dict[str, float]:
    from tool_call_guard import Guard  # type: ignore[import-not-found,unused-ignore]

    exact = Guard(
        {"defaultAction": "deny", "tools": {**{f"tool{n}": {} for n in range(99)}, "mail_send": {}}}
    )
    stars = Guard({"defaultAction": "deny", "tools": {**{f"tool{n}_*": {} for n in range(99)}, "mail_*": {}}})
    return {
        "tool-call-guard, 100 tools by name": micros(lambda: exact.check("mail_send", ARGUMENTS)),
        "tool-call-guard, 100 patterns, the last matches": micros(
            lambda: stars.check("mail_send", ARGUMENTS)
        ),
    }


def governance() -> dict[str, float]:
    from agent_os.policies import PolicyEvaluator  # type: ignore[import-not-found,unused-ignore]
    from agent_os.policies.schema import (  # type: ignore[import-not-found,unused-ignore]
        PolicyAction,
        PolicyCondition,
        PolicyDefaults,
        PolicyDocument,
        PolicyOperator,
        PolicyRule,
    )

    def evaluator(number: int) -> Any:
        rules = [
            PolicyRule(
                name=f"r{n}",
                condition=PolicyCondition(field="to", operator=PolicyOperator.EQ, value=f"p{n}@example.net"),
                action=PolicyAction.DENY,
            )
            for n in range(number)
        ]
        return PolicyEvaluator(
            policies=[
                PolicyDocument(name="d", rules=rules, defaults=PolicyDefaults(action=PolicyAction.ALLOW))
            ]
        )

    context = {"tool_name": "mail_send", **ARGUMENTS}
    twenty, hundred = evaluator(20), evaluator(100)
    return {
        "agent-os-kernel, 20 rules, all looked at": micros(lambda: twenty.evaluate(context)),
        "agent-os-kernel, 100 rules, all looked at": micros(lambda: hundred.evaluate(context)),
    }


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    print(json.dumps({**guard(), **governance()}))
