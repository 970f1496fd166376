"""Well-made contracts of several classes, and ways to change them."""

from typing import Any

from gerbang.contract.build import make_contract
from gerbang.values import Contract

TEXT = {"type": "string", "maxLength": 200, "description": "Words to look for, such as rice."}
ID = {"type": "string", "maxLength": 40, "description": "Which one, such as N-17."}


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


READ: dict[str, Any] = {
    "name": "notes.search.v1",
    "risk": "read_internal",
    "description": "Search the notes of the user.",
    "parameters": schema(words=TEXT),
    "returns": {"type": "array", "items": {"type": "string"}},
    "guidance": {
        "when_to_use": "The user asks about something that they wrote down.",
        "when_not": "Questions about the world.",
        "effect": "Changes nothing.",
        "returns_text": "The lines found.",
        "limits": "At most 20 lines.",
        "nudge": "Use this before you answer from memory.",
    },
    "owner": "notes team",
    "error_categories": ["semantic_error"],
}
WRITE: dict[str, Any] = {
    **READ,
    "name": "notes.rename.v1",
    "risk": "write_internal",
    "description": "Rename one note of the user.",
    "parameters": schema(note=ID, title=TEXT, version=ID),
    "guidance": {**READ["guidance"], "alternatives": ["notes.search.v1"]},
    "side_effects": {
        "kind": "note_renamed",
        "resources": ["note"],
        "reversible": "yes",
        "compensating_action": "notes.search.v1",
    },
    "natural_key": ["note", "version"],
    "cancellation": "finishes",
    "scopes": ["notes:write"],
}
MAIL: dict[str, Any] = {
    **WRITE,
    "name": "mail.send.v1",
    "risk": "external_communication",
    "description": "Send one mail to one person.",
    "parameters": schema(to=ID, text=TEXT),
    "side_effects": {"kind": "mail_sent", "resources": ["mail"], "reversible": "no"},
    "facts": ["irreversible"],
    "natural_key": ["to", "text"],
    "control": ["to"],
    "content": ["text"],
    "rate": {"calls": 10, "per_s": 60},
}
DROP: dict[str, Any] = {
    **WRITE,
    "name": "notes.purge.v1",
    "risk": "destructive",
    "description": "Delete one note for good.",
    "parameters": schema(note=ID, version=ID),
    "side_effects": {
        "kind": "note_deleted",
        "resources": ["note"],
        "reversible": "no",
        "default_requires_approval": True,
    },
    "facts": ["irreversible"],
    "control": ["note"],
    "expose": {"intents": ["cleaning"]},
}
CODE: dict[str, Any] = {
    **READ,
    "name": "build.compile.v1",
    "risk": "code_execution",
    "description": "Compile the program in the workspace.",
    "side_effects": {"kind": "files_written", "resources": ["file"]},
    "control": ["words"],
}
BASES = {"read": READ, "write": WRITE, "mail": MAIL, "drop": DROP, "code": CODE}


def contract(base: dict[str, Any], **changes: Any) -> Contract:
    """Return a contract with other fields; `guidance` and `side_effects` change field by field."""
    for part in ("guidance", "side_effects"):
        if isinstance(changes.get(part), dict):
            changes[part] = {**base[part], **changes[part]}
    return make_contract(**{**base, **changes})


def one(name: str, field: dict[str, Any]) -> dict[str, Any]:
    """Return the change that gives a contract this field beside a plain one."""
    return {"parameters": schema(words=TEXT, **{name: field})}
