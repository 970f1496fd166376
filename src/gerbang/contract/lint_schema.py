"""Lint rules about what a tool takes and gives."""

import re
from collections.abc import Iterator
from typing import Any, Final

from gerbang.contract.lint_rule import Hit, Rule, arguments, fixed, parts, types, vocabulary, words
from gerbang.values import Contract, RiskClass

_BOUNDED_FORMATS: Final = frozenset({"date", "date-time", "duration", "ipv4", "ipv6", "time", "uuid"})
_DATA: Final = vocabulary(
    "arg args argument arguments blob body content data input json options param params payload raw request "
    "value"
)
_VOCABULARY: Final = vocabulary(
    "category channel chain currency direction env environment format kind level mode order priority risk "
    "severity sort stage state status strategy tier type unit units visibility"
)
_CHOICE: Final = re.compile(
    r"\bone of\b|\beither\b|\bsalah satu\b|\ballowed values?\b|"
    r"^\w{2,20}(?:, \w{2,20})*,? (?:or|atau) \w{2,20}\.?$"
)
_OWNED: Final = frozenset(
    {
        *("access_token", "actor", "actor_id", "admin", "api_key", "apikey", "approval", "approval_id"),
        *(
            "approved",
            "approved_by",
            "auth",
            "authorization",
            "bearer",
            "caller",
            "credential",
            "credentials",
        ),
        *("current_user", "idempotency_key", "is_admin", "on_behalf_of", "passphrase", "password"),
        *(
            "permission",
            "permissions",
            "principal",
            "private_key",
            "refresh_token",
            "role",
            "roles",
            "run_id",
        ),
        *("scope", "scopes", "secret", "session", "session_id", "step_id", "tenant", "tenant_id", "token"),
        *("user", "user_id", "username"),
    }
)
_PRIVATE: Final = frozenset(
    {
        *("account_number", "birth_date", "card_number", "credit_card", "cvv", "date_of_birth", "iban"),
        *("medical_record", "national_id", "nik", "npwp", "otp", "passport", "passport_number", "phone"),
        *("phone_number", "pin", "ssn", "tax_id"),
    }
)
_NEGATIVE: Final = frozenset({"disable", "dont", "no", "not", "skip", "without"})
_MOMENT: Final = frozenset({"at", "date", "deadline", "datetime", "tanggal", "time", "timestamp", "until"})
_MEASURE: Final = frozenset(
    {"delay", "duration", "interval", "size", "timeout", "wait", "weight", "distance"}
)
_UNIT: Final = re.compile(
    r"\b(?:milli|micro)?seconds?\b|\bminutes?\b|\bhours?\b|\bdays?\b|\bbytes?\b|\b[kmg]i?b\b|\bcharacters?\b|"
    r"\bms\b|\bkg\b|\bgrams?\b|\bmet(?:er|re)s?\b|\bkm\b|\bdetik\b|\bmenit\b|\bjam\b|\bhari\b|\bpixels?\b"
)
_UNITS: Final = vocabulary("b bytes chars cm day days g gb h hours kb kg km m mb min minutes mm ms px s sec")
_KINDS: Final = frozenset({"$ref", "allOf", "anyOf", "const", "enum", "oneOf", "type"})
_MANY: Final = 12
_DEEP: Final = 4
_ENDLESS: Final = re.compile(r"(?<!\\)(?:[*+]|\{\d+,\})")


def _bounded_pattern(schema: dict[str, Any]) -> bool:
    pattern = schema.get("pattern")
    if not isinstance(pattern, str):
        return False
    return pattern.startswith("^") and pattern.endswith("$") and not _ENDLESS.search(pattern)


def _open_object(contract: Contract) -> Iterator[Hit]:
    for path, _, schema in parts(contract):
        if "object" not in types(schema) and "properties" not in schema:
            continue
        other = schema.get("additionalProperties", True)
        if other is False or schema.get("unevaluatedProperties") is False or "$ref" in schema:
            continue
        if isinstance(other, dict) and other and "maxProperties" in schema:
            continue
        if path.startswith("/parameters/allOf") or "/allOf/" in path:
            continue
        named = "names no fields" if "properties" not in schema else "takes fields that it does not name"
        yield path, f"This object {named}."


def _untyped_argument(contract: Contract) -> Iterator[Hit]:
    for name, schema in arguments(contract).items():
        if _KINDS.isdisjoint(schema):
            yield f"/parameters/properties/{name}", f"{name!r} takes any value of any type."


def _unbounded_string(contract: Contract) -> Iterator[Hit]:
    for path, name, schema in parts(contract):
        if "string" not in types(schema) or "maxLength" in schema or fixed(schema):
            continue
        if schema.get("format") not in _BOUNDED_FORMATS and not _bounded_pattern(schema):
            yield path, f"The text {name!r} may have any length."


def _unbounded_array(contract: Contract) -> Iterator[Hit]:
    for path, name, schema in parts(contract):
        if "array" in types(schema) and "maxItems" not in schema and schema.get("items") is not False:
            yield path, f"The list {name!r} may have any length."


def _unbounded_number(contract: Contract) -> Iterator[Hit]:
    for path, name, schema in parts(contract):
        if not types(schema) & {"integer", "number"} or fixed(schema):
            continue
        low = "minimum" in schema or "exclusiveMinimum" in schema
        high = "maximum" in schema or "exclusiveMaximum" in schema
        if not (low and high):
            side = "has no bounds" if not low and not high else f"has no {'maximum' if low else 'minimum'}"
            yield path, f"The number {name!r} {side}."


def _data_argument(contract: Contract) -> Iterator[Hit]:
    given = arguments(contract)
    if len(given) != 1:
        return
    name, schema = next(iter(given.items()))
    if (
        words(name)
        and _DATA.issuperset(words(name))
        and not fixed(schema)
        and types(schema) & {"string", "object"}
    ):
        yield f"/parameters/properties/{name}", f"All that the tool takes is one {name!r}."


def _boolean_flag(contract: Contract) -> Iterator[Hit]:
    given = arguments(contract)
    flags = [name for name, schema in given.items() if types(schema) == {"boolean"}]
    if len(flags) > 1:
        yield "/parameters/properties", f"{', '.join(flags)} make {2 ** len(flags)} combinations."
    for name in flags:
        if words(name)[:1] and words(name)[0] in _NEGATIVE:
            yield f"/parameters/properties/{name}", f"{name!r} asks for a denial of a denial."


def _open_vocabulary(contract: Contract) -> Iterator[Hit]:
    for path, name, schema in parts(contract):
        if "string" not in types(schema) or fixed(schema) or "pattern" in schema or "format" in schema:
            continue
        if words(name)[-1:] and words(name)[-1] in _VOCABULARY:
            yield path, f"{name!r} sounds like a choice among few words, and takes any text."
        elif _CHOICE.search(str(schema.get("description", "")).lower()):
            yield path, f"The description of {name!r} lists its words, the schema takes any text."


def _runtime_owned(contract: Contract) -> Iterator[Hit]:
    for path, _, schema in parts(contract):
        for name in schema.get("properties", {}):
            if "_".join(words(name)) in _OWNED and name not in contract.runtime_fields:
                yield f"{path}/properties/{name}", f"The model is asked for {name!r}."


def _private_shown(contract: Contract) -> Iterator[Hit]:
    for name in arguments(contract):
        if "_".join(words(name)) in _PRIVATE and name not in contract.sensitive:
            yield f"/parameters/properties/{name}", f"{name!r} is written into records as it is."


def _undescribed(contract: Contract) -> Iterator[Hit]:
    for name, schema in arguments(contract).items():
        if not schema.get("description") and "$ref" not in schema:
            yield f"/parameters/properties/{name}", f"Nothing says what {name!r} is."


def _loose_moment(contract: Contract) -> Iterator[Hit]:
    for path, name, schema in parts(contract):
        if "string" not in types(schema) or fixed(schema) or "format" in schema or "pattern" in schema:
            continue
        if words(name)[-1:] and words(name)[-1] in _MOMENT:
            yield path, f"{name!r} is a time, and takes any text."


def _no_unit(contract: Contract) -> Iterator[Hit]:
    for path, name, schema in parts(contract):
        found = words(name)
        if not types(schema) & {"integer", "number"} or not found or found[-1] in _UNITS:
            continue
        if _MEASURE.intersection(found) and not _UNIT.search(str(schema.get("description", "")).lower()):
            yield path, f"{name!r} is measured in nothing."


def _many_arguments(contract: Contract) -> Iterator[Hit]:
    count = len(arguments(contract))
    if count > _MANY:
        yield "/parameters/properties", f"The tool takes {count} arguments."


def _deep_arguments(contract: Contract) -> Iterator[Hit]:
    for path, name, _ in parts(contract):
        depth = path.count("/properties/") + path.count("/items")
        if depth > _DEEP:
            yield path, f"{name!r} lies {depth} levels deep."
            return


def _no_output_schema(contract: Contract) -> Iterator[Hit]:
    if contract.returns is None:
        yield "/returns", "Whatever the tool returns is taken."


def _header_argument(contract: Contract) -> Iterator[Hit]:
    http = contract.annotations.get("http")
    named = http.get("header_arguments") if isinstance(http, dict) else None
    for name in named if isinstance(named, list | tuple) else ():
        yield f"/parameters/properties/{name}", f"The model fills a header with {name!r}."


def _undeclared_resource(contract: Contract) -> Iterator[Hit]:
    if contract.risk in (RiskClass.COMPUTE, RiskClass.READ_EXTERNAL):
        return
    for name, schema in arguments(contract).items():
        found = words(name)
        if len(found) > 1 and found[-1] == "id" and name not in contract.resources and not fixed(schema):
            yield f"/parameters/properties/{name}", f"Whose thing {name!r} names is not checked."


RULES: Final = (
    Rule(
        "open-object",
        "error",
        "An object takes fields that nobody described.",
        'Say "additionalProperties": false; a map of free names needs a schema for its values and '
        "maxProperties.",
        _open_object,
    ),
    Rule(
        "untyped-argument",
        "error",
        "An argument takes any value of any type.",
        "Give it a type, or an enum.",
        _untyped_argument,
    ),
    Rule(
        "unbounded-string",
        "warning",
        "A text may have any length.",
        "Add maxLength, or an enum, a bounded pattern or a format.",
        _unbounded_string,
    ),
    Rule("unbounded-array", "warning", "A list may have any length.", "Add maxItems.", _unbounded_array),
    Rule(
        "unbounded-number",
        "warning",
        "A number has no bounds.",
        "Add minimum and maximum.",
        _unbounded_number,
    ),
    Rule(
        "data-argument",
        "error",
        "One text or object carries everything, and nothing in it is checked.",
        "Name each field of it, with its type and bounds.",
        _data_argument,
    ),
    Rule(
        "boolean-flags",
        "warning",
        "A choice is spelt in booleans.",
        "Make one enum whose words say what happens, such as mode: draft | publish; say flags positively.",
        _boolean_flag,
    ),
    Rule(
        "open-vocabulary",
        "warning",
        "A choice among few words takes any text.",
        "List the words as an enum.",
        _open_vocabulary,
    ),
    Rule(
        "runtime-owned-field",
        "error",
        "The model is asked for what only the runtime knows: who calls, for whom, with what right.",
        "Take it out of the schema and name it in runtime_fields, or ask the CallContext or a secret for it.",
        _runtime_owned,
    ),
    Rule(
        "private-field-shown",
        "warning",
        "A private value is written into records.",
        "Name the argument in sensitive.",
        _private_shown,
    ),
    Rule(
        "undescribed-argument",
        "note",
        "Nothing says what an argument is.",
        "Give it a description with an example.",
        _undescribed,
    ),
    Rule(
        "loose-date",
        "warning",
        "A date or time takes any text.",
        "Add a format (date, time or date-time), or a pattern.",
        _loose_moment,
    ),
    Rule(
        "missing-unit",
        "note",
        "A quantity is measured in nothing.",
        "End the name in its unit, such as timeout_s, or name the unit in the description.",
        _no_unit,
    ),
    Rule(
        "many-arguments",
        "note",
        f"More than {_MANY} arguments confuse small models.",
        "Split the tool by what it is used for, or give defaults from the runtime.",
        _many_arguments,
    ),
    Rule(
        "deep-arguments",
        "note",
        f"Arguments lie more than {_DEEP} levels deep.",
        "Flatten them, or split the tool.",
        _deep_arguments,
    ),
    Rule(
        "missing-output-schema",
        "note",
        "The result is not checked.",
        "Describe it in returns, as a JSON Schema.",
        _no_output_schema,
    ),
    Rule(
        "header-argument",
        "warning",
        "The model fills a header of a request.",
        "If it is a credential, write ${secret:NAME} in the header instead and take the argument out.",
        _header_argument,
    ),
    Rule(
        "undeclared-resource",
        "note",
        "An argument names a thing, and nothing checks whose it is.",
        "Name it in resources with its kind and, where names carry it, the tenant's prefix.",
        _undeclared_resource,
    ),
)
