"""Action Receipts (AgentBoundary v0.1): one portable record of one action that was asked for.

The format's hashes are plain SHA-256 over JSON with sorted keys, no white space, and letters as they are. Its
`arguments_hash` is not salted: it is in receipts because the format wants it, and in no event of ours.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, Literal

from gerbang.audit.export import moment

VERSION: Final = "agentboundary/v0.1"
Environment = Literal["prod", "staging", "dev"]
_URLS: Final = bytes.fromhex("6ba7b8119dad11d180b400c04fd430c8")
_DECIDED: Final = {
    "approved_by_policy": "allow",
    "approved_by_person": "require-approval",
    "denied_by_policy": "deny",
}


def receipt(
    call: Mapping[str, Any],
    arguments_hash: str,
    *,
    model: str,
    store: str,
    environment: Environment,
    version: str,
) -> dict[str, Any]:
    """Return the receipt of a call. `call` is its record (`gerbang.audit.calls`).

    `arguments_hash` is of the arguments that were executed, or asked for. `model` names who asked,
    `environment` what the operator says of the targets, `version` this program's.
    """
    name = str(call["tool_name"]) or "unknown"
    bare, dot, last = name.rpartition(".")
    versioned = bool(dot) and last[:1] == "v" and last[1:].isdigit()
    capability = bare if versioned else name
    tool = {"name": name, "capability": capability}
    if versioned:
        tool["version"] = last
    made: dict[str, Any] = {
        "version": VERSION,
        "receipt_id": _name(f"urn:gerbang:{store}:{call['run_id']}:{call['seq']}"),
        "issued_at": moment(_time(call)),
        "actor": _actor(call),
        "agent": {"framework": "gerbang", "framework_version": version, "model": model or "none"},
        "tool": tool,
        "target": {"system": capability.partition(".")[0], "environment": environment},
        "arguments_hash": arguments_hash,
        "policy": {
            "name": str(call.get("rule") or "class-default"),
            "version": str(call.get("policy_version") or "none"),
            "decision": _decision(call),
        },
        "execution": _execution(call),
    }
    if made["policy"]["decision"] == "require-approval":
        made["approval"] = _approval(call)
    made["receipt_hash"] = _sha256(made)
    return made


_RAN = frozenset({"call.finished", "call.resolved", "call.lost"})
"""Kinds of event of what was sent. Of the last nobody knows more: that is no block."""


def hash_of(arguments: Any) -> str:
    """Return the format's hash of arguments, which are those of a canonical text, read."""
    return _sha256(arguments)


def _sha256(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _name(urn: str) -> str:
    """Return the UUID of a name in the URL namespace (RFC 9562, version 5)."""
    raw = bytearray(hashlib.sha1(_URLS + urn.encode(), usedforsecurity=False).digest()[:16])
    raw[6] = raw[6] & 0x0F | 0x50
    raw[8] = raw[8] & 0x3F | 0x80
    code = raw.hex()
    return f"{code[:8]}-{code[8:12]}-{code[12:16]}-{code[16:20]}-{code[20:]}"


def _actor(call: Mapping[str, Any]) -> dict[str, str]:
    agent = call.get("agent_id")
    user = str(call.get("user") or "unknown")
    if agent:
        return {"type": "agent", "id": str(agent), "display_name": f"{agent} for {user}"}
    return {"type": "human", "id": user}


def _decision(call: Mapping[str, Any]) -> str:
    said = str(call.get("policy_decision"))
    decided = _DECIDED.get(said)
    if decided is not None and decided != "require-approval":
        return decided
    if call.get("approval_state") in ("granted", "used") or decided is not None:
        return "require-approval" if call.get("approver") else "escalate"
    return "escalate" if call.get("approval_id") or said == "needs_approval" else "deny"


def _approval(call: Mapping[str, Any]) -> dict[str, Any]:
    at = call.get("approved_at") or call.get("started_at") or 0.0
    return {
        "approver": {"id": str(call["approver"])},
        "approved_at": moment(float(at)),
        "context": f"approval {call.get('approval_id')}",
    }


def _execution(call: Mapping[str, Any]) -> dict[str, Any]:
    again = call.get("kind") == "call.replayed"  # nothing ran: who counts effects must not count it twice
    ran = call.get("kind") in _RAN
    status = "blocked" if not ran else "success" if call.get("status") == "success" else "failure"
    made = {"status": status, "completed_at": moment(_time(call))}
    if call.get("error_code") or again:
        made["error_code"] = "REPLAYED" if again else str(call["error_code"])
    if status != "blocked":
        made["result_ref"] = f"{call['run_id']}/{call['seq']}"
    return made


def _time(call: Mapping[str, Any]) -> float:
    return float(call.get("finished_at") or call.get("started_at") or call.get("requested_at") or 0.0)
