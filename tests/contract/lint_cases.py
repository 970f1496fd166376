"""For each rule of the linter contracts that trip it and contracts that do not."""

from typing import Any

from gerbang.values import Contract

from .lint_contracts import CODE, DROP, ID, MAIL, READ, TEXT, WRITE, contract, schema
from .lint_schema_cases import SCHEMA_CASES

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
    *SCHEMA_CASES,
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
