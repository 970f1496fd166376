"""Contracts that trip the rules about schemas, and contracts that do not."""

from typing import Any

from .lint_contracts import READ, TEXT, one, schema

STRING = {"type": "string", "description": "Something."}
INTEGER = {"type": "integer", "description": "How many."}
FLAG = {"type": "boolean", "description": "Whether to."}
SHORT = {"type": "string", "maxLength": 9, "description": "Something."}

SCHEMA_CASES: list[tuple[str, dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]] = [
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
]
