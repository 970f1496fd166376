"""What the tests of this folder share: bundles on disk and documents to decide about."""

from pathlib import Path
from typing import Any

from gerbang.policy.document import read_document
from gerbang.policy.input import PolicyInput

ALLOW = '{"decision": "allow", "reasons": ["OK"]}'

HARD = f"""package gerbang

default decision := {{"decision": "deny", "reasons": ["NO"]}}

decision := {ALLOW} if input.arguments.kind == "plain"

decision := {ALLOW} if {{
    input.arguments.kind == "hang"
    count({{x | some a in many; some b in many; x := (a * b) % 7}}) < 0
}}

decision := {ALLOW} if {{ input.arguments.kind == "crash"; forever(1) }}

decision := {ALLOW} if {{
    input.arguments.kind == "eat"
    count([x | some a in many; some b in many; x := [a, b, "12345678901234567890"]]) < 0
}}

decision := {ALLOW} if {{ input.arguments.kind == "conflict"; both }}

many := numbers.range(1, 5000)

both := true if input.tool.name

both := false if input.tool.name

# The linter cannot see where a reference in brackets leads, so this recursion reaches the engine.
forever(x) := data["gerbang"].forever(x)
"""
"""A policy that is well for `plain` calls and does its worst for others."""


def write(folder: Path, files: dict[str, str]) -> Path:
    """Write files below `folder` and return it."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


def rego(folder: Path, text: str, name: str = "policy.rego") -> Path:
    """Write one file and return its path."""
    return write(folder, {name: text}) / name


def document(tool: str = "box.open.v1", risk: str = "compute", **fields: Any) -> PolicyInput:
    """Return the input about a call of `tool`."""
    return read_document({"tool": {"name": tool, "risk_class": risk}, **fields}, "test")


def call(kind: str = "plain", **arguments: Any) -> PolicyInput:
    """Return the input about a call with `kind` among its arguments."""
    return document(arguments={"kind": kind, **arguments})
