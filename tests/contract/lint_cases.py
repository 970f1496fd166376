"""For each rule of the linter contracts that trip it and contracts that do not."""

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


STRING = {"type": "string", "description": "Something."}
INTEGER = {"type": "integer", "description": "How many."}
FLAG = {"type": "boolean", "description": "Whether to."}
SHORT = {"type": "string", "maxLength": 9, "description": "Something."}

CASES: list[tuple[str, dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]] = [
    (
        "generic-name",
        READ,
        [
            {"name": "notes.run.v1"},
            {"name": "run"},
            {"name": "notes.do_it.v2"},
            {"name": "notes.handleRequest.v1"},
        ],
        [{"name": "tests.run_unit.v1"}, {"name": "notes.query_history.v1"}],
    ),
    (
        "unversioned-name",
        READ,
        [{"name": "notes.search"}, {"name": "notes.search.v01"}],
        [{"name": "a.b.v12"}],
    ),
    (
        "name-without-domain",
        READ,
        [{"name": "search_notes"}, {"name": "search.v1"}],
        [{"name": "notes.search"}],
    ),
    (
        "name-against-class",
        READ,
        [{"name": "notes.delete.v1"}, {"name": "mail.sendAll.v1"}, {"name": "notes.update_one.v1"}],
        [{"name": "notes.list_deleted.v1"}, {"name": "notes.delete.v1", "risk": "draft"}],
    ),
    ("short-description", READ, [{"description": "Notes."}], [{"description": "Find notes by words."}]),
    (
        "long-description",
        READ,
        [{"description": "Find notes. " * 130}, {"guidance": {"limits": "At most 20. " * 130}}],
        [{"description": "Find notes. " * 30}],
    ),
    (
        "permissive-description",
        READ,
        [
            {"description": "Search for anything at all."},
            {"description": "A general-purpose helper for notes."},
        ],
        [{"description": "Search the notes for one thing."}],
    ),
    (
        "missing-when-to-use",
        READ,
        [{"guidance": {"when_to_use": "", "nudge": "Before you answer."}}],
        [
            {"description": "Search notes. Use this when the user asks.", "guidance": {"when_to_use": ""}},
            {"description": "Mencari catatan. Pakai ini bila diminta.", "guidance": {"when_to_use": ""}},
        ],
    ),
    (
        "missing-when-not",
        READ,
        [{"guidance": {"when_not": ""}}],
        [
            {"description": "Search notes. Not for mails.", "guidance": {"when_not": ""}},
            {"description": "Mencari catatan. Bukan untuk surat.", "guidance": {"when_not": ""}},
        ],
    ),
    (
        "missing-returns",
        READ,
        [{"guidance": {"returns_text": ""}}],
        [
            {"description": "Search notes. Returns lines.", "guidance": {"returns_text": ""}},
            {"description": "Mencari catatan. Mengembalikan baris.", "guidance": {"returns_text": ""}},
        ],
    ),
    (
        "missing-effect",
        READ,
        [{"guidance": {"effect": ""}}],
        [{"description": "Search notes. Changes nothing.", "guidance": {"effect": ""}}],
    ),
    (
        "missing-limits",
        READ,
        [{"guidance": {"limits": ""}}],
        [
            {"description": "Return up to ten notes of the user.", "guidance": {"limits": ""}},
            {"guidance": {"limits": ""}, "risk": "compute"},
        ],
    ),
    (
        "missing-alternatives",
        WRITE,
        [{"guidance": {"alternatives": []}}],
        [{}, {"guidance": {"alternatives": []}, "risk": "draft"}],
    ),
    (
        "missing-nudge",
        READ,
        [{"guidance": {"nudge": ""}}],
        [{"guidance": {"nudge": ""}, "description": "Search notes. Use this for every question."}],
    ),
    (
        "deprecated-without-successor",
        READ,
        [{"deprecated": True}, {"retired": True}],
        [{"deprecated": True, "replaced_by": "notes.search.v2"}],
    ),
    ("missing-owner", READ, [{"owner": ""}], [{"owner": "somebody"}]),
    (
        "open-object",
        READ,
        [
            {"parameters": {**schema(words=TEXT), "additionalProperties": True}},
            one("more", {"type": "object", "description": "More."}),
            one("more", {"type": "object", "additionalProperties": SHORT, "description": "Labels."}),
            one(
                "more", {"type": "array", "maxItems": 3, "items": {"type": "object"}, "description": "More."}
            ),
        ],
        [
            one("more", {"type": "object", "properties": {"a": SHORT}, "description": "More."}),
            one(
                "more",
                {
                    "type": "object",
                    "additionalProperties": SHORT,
                    "maxProperties": 5,
                    "description": "Labels.",
                },
            ),
            one("more", {"type": "object", "additionalProperties": False, "description": "Nothing."}),
        ],
    ),
    (
        "untyped-argument",
        READ,
        [{"parameters": schema(words=TEXT, more=True)}, one("more", {"description": "More."})],
        [one("more", {"enum": ["a", 1], "description": "More."}), one("more", {"$ref": "#"})],
    ),
    (
        "unbounded-string",
        READ,
        [
            one("word", STRING),
            one("word", {"type": ["string", "null"], "description": "Something."}),
            one("word", {**STRING, "pattern": "^[a-z]+$"}),
            one("word", {**STRING, "format": "email"}),
            one("word", {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "Something."}),
            one(
                "list", {"type": "array", "maxItems": 3, "items": {"type": "string"}, "description": "Some."}
            ),
        ],
        [
            one("word", SHORT),
            one("word", {**STRING, "enum": ["a", "b"]}),
            one("word", {**STRING, "format": "date"}),
            one("word", {**STRING, "pattern": "^[A-Z]{3}-[0-9]{1,6}$"}),
        ],
    ),
    (
        "unbounded-array",
        READ,
        [one("list", {"type": "array", "items": SHORT, "description": "Some."})],
        [one("list", {"type": "array", "items": SHORT, "maxItems": 3, "description": "Some."})],
    ),
    (
        "unbounded-number",
        READ,
        [
            one("count", INTEGER),
            one("count", {**INTEGER, "minimum": 0}),
            one("count", {"type": "number", "maximum": 3, "description": "How many."}),
        ],
        [
            one("count", {**INTEGER, "minimum": 0, "maximum": 5}),
            one("count", {**INTEGER, "exclusiveMinimum": 0, "exclusiveMaximum": 5}),
            one("count", {**INTEGER, "enum": [1, 2]}),
        ],
    ),
    (
        "data-argument",
        READ,
        [
            {"parameters": schema(data=TEXT)},
            {"parameters": schema(input=TEXT)},
            {"parameters": schema(jsonPayload={"type": "object", "description": "All."})},
        ],
        [
            {"parameters": schema(data=TEXT, title=TEXT)},
            {"parameters": schema(query=TEXT)},
            {"parameters": {}},
        ],
    ),
    (
        "boolean-flags",
        READ,
        [{"parameters": schema(draft=FLAG, publish=FLAG)}, one("no_cache", FLAG), one("skipTests", FLAG)],
        [one("cached", FLAG)],
    ),
    (
        "open-vocabulary",
        READ,
        [
            one("status", SHORT),
            one("sort_order", SHORT),
            one("depth", {**SHORT, "description": "One of shallow, deep."}),
            one("depth", {**SHORT, "description": "shallow, middle or deep"}),
        ],
        [
            one("status", {**SHORT, "enum": ["open", "done"]}),
            one("currency", {**SHORT, "pattern": "^[A-Z]{3}$"}),
            one("depth", SHORT),
        ],
    ),
    (
        "runtime-owned-field",
        READ,
        [
            one("tenant_id", SHORT),
            one("userId", SHORT),
            one("api_key", SHORT),
            one("role", {**SHORT, "enum": ["admin"]}),
            one("who", {"type": "object", "properties": {"token": SHORT}, "description": "Who."}),
        ],
        [one("recipient", SHORT), {"runtime_fields": ["tenant"]}],
    ),
    (
        "private-field-shown",
        READ,
        [one("card_number", SHORT), one("dateOfBirth", {**SHORT, "format": "date"})],
        [{**one("card_number", SHORT), "sensitive": ["card_number"]}],
    ),
    ("undescribed-argument", READ, [one("word", {"type": "string", "maxLength": 9})], [one("word", SHORT)]),
    (
        "loose-date",
        READ,
        [one("date", SHORT), one("starts_at", SHORT), one("due_date", SHORT)],
        [one("date", {**STRING, "format": "date"}), one("dates_wanted", SHORT)],
    ),
    (
        "missing-unit",
        READ,
        [one("timeout", {**INTEGER, "minimum": 0, "maximum": 5})],
        [
            one("timeout_s", {**INTEGER, "minimum": 0, "maximum": 5}),
            one("timeout", {**INTEGER, "minimum": 0, "maximum": 5, "description": "In seconds."}),
            one("count", {**INTEGER, "minimum": 0, "maximum": 5}),
        ],
    ),
    (
        "many-arguments",
        READ,
        [{"parameters": schema(**{f"word_{number}": SHORT for number in range(13)})}],
        [{"parameters": schema(**{f"word_{number}": SHORT for number in range(12)})}],
    ),
    (
        "deep-arguments",
        READ,
        [
            one(
                "a",
                {
                    "type": "object",
                    "description": "A.",
                    "properties": {
                        "b": {
                            "type": "object",
                            "properties": {
                                "c": {
                                    "type": "object",
                                    "properties": {"d": {"type": "object", "properties": {"e": SHORT}}},
                                }
                            },
                        }
                    },
                },
            )
        ],
        [one("a", {"type": "object", "description": "A.", "properties": {"b": SHORT}})],
    ),
    ("missing-output-schema", READ, [{"returns": None}], [{"returns": {"type": "string"}}]),
    (
        "header-argument",
        READ,
        [{"annotations": {"http": {"header_arguments": ["words"]}}}],
        [{"annotations": {"http": {"method": "GET"}}}, {"annotations": {"http": "odd"}}],
    ),
    (
        "undeclared-resource",
        READ,
        [one("ticket_id", SHORT), one("accountId", SHORT)],
        [
            {**one("ticket_id", SHORT), "resources": {"ticket_id": {"kind": "ticket"}}},
            {**one("ticket_id", SHORT), "risk": "read_external"},
            one("id", SHORT),
        ],
    ),
    (
        "undeclared-side-effects",
        WRITE,
        [{"side_effects": None}, {"side_effects": None, "risk": "draft"}],
        [{"side_effects": None, "risk": "read_internal"}],
    ),
    ("effects-without-resources", WRITE, [{"side_effects": {"resources": []}}], [{}]),
    (
        "reversibility-not-declared",
        WRITE,
        [{"side_effects": {"reversible": None}}],
        [{"side_effects": {"reversible": "no", "compensating_action": None}, "facts": ["irreversible"]}],
    ),
    (
        "missing-compensation",
        WRITE,
        [
            {"side_effects": {"compensating_action": None}},
            {"side_effects": {"compensating_action": None, "reversible": "partially"}},
            {"side_effects": {"compensating_action": None, "reversible": "no"}},
        ],
        [{"side_effects": {"compensating_action": None, "reversible": "no"}, "facts": ["irreversible"]}],
    ),
    (
        "mutation-without-idempotency",
        WRITE,
        [
            {"natural_key": []},
            {"natural_key": [], "side_effects": {"idempotency_required": True}, "risk": "code_execution"},
        ],
        [
            {"natural_key": [], "honours_key": True},
            {
                "natural_key": [],
                "probe": {
                    "tool": "notes.search.v1",
                    "happened": {"test": "exists", "path": "/0"},
                    "not_happened": {"test": "absent", "path": "/0"},
                    "arguments": {"words": "title"},
                },
            },
            {"natural_key": [], "risk": "code_execution"},
        ],
    ),
    (
        "optional-natural-key",
        WRITE,
        [{"parameters": {**schema(note=ID, title=TEXT, version=ID), "required": ["note"]}}],
        [{}],
    ),
    (
        "destructive-without-approval",
        DROP,
        [
            {"side_effects": {"default_requires_approval": False}},
            {"side_effects": None},
            {"side_effects": {"default_requires_approval": False}, "risk": "transactional"},
        ],
        [{}, {"side_effects": {"default_requires_approval": False}, "risk": "write_internal"}],
    ),
    (
        "missing-read-before-write",
        WRITE,
        [{"parameters": schema(note=ID, title=TEXT), "natural_key": ["note"]}],
        [
            {"parameters": schema(note=ID, base_revision=ID), "natural_key": ["note"]},
            {"parameters": schema(note=ID, title=TEXT), "natural_key": ["note"], "name": "notes.create.v1"},
            {
                "parameters": schema(note=ID, title=TEXT),
                "natural_key": ["note"],
                "validators": [
                    {"name": "fresh_snapshot", "options": {"read_by": ["notes.search.v1"], "within_s": 60}}
                ],
            },
        ],
    ),
    ("missing-control", MAIL, [{"control": []}], [{}, {"control": [], "risk": "draft"}]),
    (
        "missing-content",
        MAIL,
        [{"content": []}, {"control": [], "content": ["text"]}],
        [{}, {"content": [], "risk": "write_external"}],
    ),
    (
        "long-timeout",
        READ,
        [{"timeout_s": 301}],
        [{"timeout_s": 301, "idle_timeout_s": 30}, {"timeout_s": 300}],
    ),
    ("large-result", READ, [{"result_max_chars": 100_001}], [{"result_max_chars": 100_000}]),
    ("missing-rate", MAIL, [{"rate": None}], [{"rate": {"calls": 1, "per_s": 1}}]),
    ("unknown-cancellation", WRITE, [{"cancellation": "unknown"}], [{"cancellation": "stops"}]),
    ("undeclared-errors", READ, [{"error_categories": []}], [{}]),
    (
        "exposed-to-all",
        DROP,
        [{"expose": {}}],
        [{"expose": {"roles": ["cleaner"]}}, {"intents": ["x"], "expose": {}}],
    ),
    ("missing-scopes", WRITE, [{"scopes": []}], [{"scopes": ["notes"]}]),
    ("secrets-with-code", CODE, [{"secrets": ["DEPLOY_KEY"]}], [{}]),
    (
        "bad-allowance",
        READ,
        [
            {"annotations": {"lint_allow": {"no-such-rule": "Because."}}},
            {"annotations": {"lint_allow": {"missing-owner": ""}}},
            {"annotations": {"lint_allow": ["missing-owner"]}},
        ],
        [{"annotations": {"lint_allow": {"missing-owner": "The folder says it."}}}],
    ),
]

SETS: list[tuple[str, list[Contract], list[Contract]]] = [
    (
        "near-duplicate-name",
        [contract(READ), contract(READ, name="note.find.v1", description="Look notes up by words.")],
        [contract(READ), contract(READ, name="notes.search.v2")],
    ),
    (
        "near-duplicate-name",
        [contract(READ, name="repo.read_file.v1"), contract(READ, name="repo.get-files.v1")],
        [contract(READ, name="repo.read_file.v1"), contract(READ, name="repo.read_folder.v1")],
    ),
    (
        "near-duplicate-description",
        [
            contract(READ),
            contract(READ, name="mail.list.v1", description="Search the notes of the user. Or so."),
        ],
        [contract(READ), contract(READ, name="mail.list.v1", description="List the mails of the user.")],
    ),
    (
        "unknown-tool-named",
        [contract(WRITE)],
        [contract(WRITE), contract(READ)],
    ),
    (
        "unknown-tool-named",
        [contract(READ, deprecated=True, replaced_by="notes.search.v2")],
        [
            contract(READ, deprecated=True, replaced_by="notes.search.v2"),
            contract(READ, name="notes.search.v2"),
        ],
    ),
]
