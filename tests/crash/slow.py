"""Tools of a target that works on for longer than its callers wait, and says so in its contract."""

import tempfile
from pathlib import Path
from typing import Any, Final

import msgspec

import gerbang as g

from .target import SLOW_S

TIMEOUT_S: Final = SLOW_S / 2.5
POLICY: Final = g.Policy.from_rules(
    [{"id": "all", "match": {"tool": ["*"]}, "everything": True, "decision": "allow", "reason": "T"}]
)


def tools(origin: str, settles_s: float | None = SLOW_S + 2, timeout_s: float = TIMEOUT_S) -> list[Any]:
    """Return what acts, slowly, and what tells whether it did."""
    item = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
    probe: dict[str, Any] = {
        "tool": "slow.made.v1",
        "arguments": {"item": "item"},
        "happened": {"test": "equals", "path": "/made", "value": True},
        "not_happened": {"test": "equals", "path": "/made", "value": False},
    }
    if settles_s is not None:
        probe["settles_s"] = settles_s
    act = {
        "name": "slow.act.v1",
        "description": "Do it.",
        "parameters": item,
        "url": origin + "/plain/slow",
        "risk": "external_communication",
        "timeout_s": timeout_s,
        "probe": probe,
    }
    made = {
        "name": "slow.made.v1",
        "description": "Tell whether it was done.",
        "parameters": item,
        "url": origin + "/made?item={item}",
        "method": "GET",
        "risk": "read_external",
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tools.json"
        path.write_bytes(msgspec.json.encode([act, made]))
        return list(g.load_tools(path, egress=[origin.removeprefix("http://")]))
