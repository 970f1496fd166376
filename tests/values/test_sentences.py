"""Every error can be said in both languages, with what to do next."""

import re
import string
from pathlib import Path
from typing import Any

import pytest

from gerbang.values import CallError, InvalidField, findings_en, findings_id, sentences_en, sentences_id
from gerbang.values.counting import filled
from gerbang.values.failure import ERROR_TYPES, OWN_WORDS
from gerbang.values.reasons_id import REASONS
from gerbang.values.sentences import advised, field, in_language, said

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "errors.md").read_text("utf-8")
TABLE = re.findall(r"^\| `([a-z_]+)` \| (.*) \|$", PAGE.partition("## Codes")[2], re.MULTILINE)
DOCUMENTED = sorted(
    {(kind, code) for kind, row in TABLE for code in re.findall(r"`([A-Z_]+(?:[345]XX)?)`", row)}
)
EN, ID = sentences_en.ERRORS, sentences_id.ERRORS

TAXONOMY = {
    "parse_error": "CALL_NOT_JSON CALL_TRUNCATED CALL_SHAPE",
    "unknown_tool": "TOOL_UNKNOWN TOOL_RETIRED",
    "validation_error": "MISSING_FIELD WRONG_TYPE NOT_IN_ENUM TOO_LONG EXTRA_FIELD RUNTIME_OWNED_FIELD",
    "semantic_error": "SAME_BRANCH STALE_SNAPSHOT NOT_FOUND ILLEGAL_TRANSITION NO_EVIDENCE",
    "permission_denied": "SCOPE_MISSING TENANT_MISMATCH",
    "policy_denied": "KILL_SWITCH",
    "approval_denied": "APPROVER_REFUSED",
    "approval_expired": "APPROVAL_TIMEOUT",
    "rate_limited": "RATE_TOOL RATE_ACTOR",
    "budget_exceeded": "BUDGET_STEPS BUDGET_COST BUDGET_TIME BUDGET_CONTEXT REPEATED_CALL",
    "timeout": "TOOL_TIMEOUT IDLE_TIMEOUT",
    "transient_network_error": "CONNECT_FAILED CONNECTION_RESET",
    "upstream_error": "HTTP_4XX HTTP_5XX",
    "conflict": "VERSION_CONFLICT ALREADY_EXISTS KEY_REUSED",
    "output_validation_error": "OUTPUT_SHAPE",
    "uncertain_effect": "EFFECT_UNKNOWN",
    "cancelled": "RUN_CANCELLED DEADLINE",
    "internal_error": "INTERNAL",
}


def holes(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


@pytest.mark.parametrize(("kind", "code"), DOCUMENTED, ids=str)
def test_a_documented_code_has_its_sentences(kind: str, code: str) -> None:
    for table in (EN, ID):
        assert table[code].text
        assert table[code].fix
    bare = CallError(kind, code, "English.")
    told = in_language(bare, "id")
    assert told.message not in ("", "English.")
    assert told.suggested_fix
    assert "{" not in told.message + told.suggested_fix
    assert (told.error_code, told.error_type) == (code, kind)


def test_the_taxonomy_is_whole() -> None:
    assert set(TAXONOMY) == ERROR_TYPES
    codes = {code for row in TAXONOMY.values() for code in row.split()}
    assert codes <= set(EN) & set(ID)


def test_every_code_of_the_runtime_is_in_the_table() -> None:
    """A code that is given as a literal in the runtime or the contracts' checks has its sentences."""
    places = ("runtime", "contract", "loop")
    files = [path for place in places for path in (ROOT / "src/gerbang" / place).rglob("*.py")]
    source = "".join(path.read_text("utf-8") for path in files)
    given = re.findall(r'\b(?:said|CallError|_found|finding)\(\s*"[a-z_/]*"?,?\s*"([A-Z][A-Z_]+)"', source)
    assert len(given) > 15
    assert sorted(set(given) - set(EN)) == []


def test_both_languages_have_the_same_entries() -> None:
    assert set(EN) == set(ID)
    assert set(findings_en.FIELDS) == set(findings_id.FIELDS)


@pytest.mark.parametrize("name", sorted(EN))
def test_an_entry_is_filled_by_the_same_names(name: str) -> None:
    english, indonesian = EN[name], ID[name]
    assert english != indonesian
    assert holes(english.text) == holes(indonesian.text)
    assert holes(english.fix) == holes(indonesian.fix)
    for entry in (english, indonesian):
        assert not holes(entry.plain + entry.plain_fix)
        if holes(entry.text):
            assert entry.plain, "an error without particulars needs a sentence too"


@pytest.mark.parametrize("name", sorted(EN))
def test_an_entry_filled_and_not(name: str) -> None:
    names = holes(EN[name].text + EN[name].fix)
    full = said("internal_error", name.partition("/")[0], dict.fromkeys(names, "<x>"), entry=name)
    assert full.message == filled(EN[name].text, **dict.fromkeys(names, "<x>"))
    told = in_language(full, "id")
    assert told.message == filled(ID[name].text, **dict.fromkeys(names, "<x>"))
    assert told.suggested_fix == filled(ID[name].fix, **dict.fromkeys(names, "<x>"))
    assert in_language(full, "en") is full
    bare = said("internal_error", name.partition("/")[0], entry=name)
    assert "{" not in bare.message + in_language(bare, "id").message


@pytest.mark.parametrize("name", sorted(findings_en.FIELDS))
def test_a_field_in_both_languages(name: str) -> None:
    english, indonesian = findings_en.FIELDS[name], findings_id.FIELDS[name]
    assert holes(english) == holes(indonesian)
    params = dict.fromkeys(holes(english), "a|b")
    one = field("/x", "WRONG_TYPE", name, **params)
    error = CallError("validation_error", "WRONG_TYPE", "No.", invalid_fields=(one,))
    told = in_language(error, "id").invalid_fields[0]
    assert told.message != one.message
    assert (told.path, told.code) == ("/x", "WRONG_TYPE")


def test_types_are_joined_in_the_language() -> None:
    one = field("/x", "WRONG_TYPE", "type", wanted="integer|null", given="string")
    error = CallError("validation_error", "WRONG_TYPE", "No.", invalid_fields=(one,))
    assert one.message == "Must be integer or null, not string."
    assert in_language(error, "id").invalid_fields[0].message == "Harus integer atau null, bukan string."


def test_a_semantic_error_says_its_findings() -> None:
    fields = (
        field("/branch", "SAME_BRANCH", "differs", one="base", other="branch"),
        field("", "STALE_SNAPSHOT", "unread", wanted="repo.read.v1|repo.list.v1"),
        InvalidField("/who", "NO_SUCH_PERSON", "Tidak ada orang itu."),
    )
    error = said("semantic_error", "SAME_BRANCH", invalid_fields=fields)
    told = in_language(error, "id")
    assert told.message == (
        "base dan branch harus berbeda. Baca dahulu dengan repo.read.v1 atau repo.list.v1. "
        "Tidak ada orang itu."
    )
    assert told.suggested_fix == ID["SAME_BRANCH"].fix


@pytest.mark.parametrize("kind", sorted(ERROR_TYPES))
def test_nobody_is_left_without_advice(kind: str) -> None:
    own = CallError(kind, "FULL", "Kotak penuh.", said=OWN_WORDS)
    english, indonesian = advised(own, "en"), advised(own, "id")
    assert english.suggested_fix.endswith(".")
    assert indonesian.suggested_fix not in ("", english.suggested_fix)
    assert (english.message, indonesian.message) == ("Kotak penuh.", "Kotak penuh.")
    kept = CallError(kind, "FULL", "Full.", suggested_fix="Empty it.")
    assert advised(kept, "id") is kept


@pytest.mark.parametrize("effect", ["happened", "unknown"])
def test_what_may_have_happened_is_never_advised_again(effect: Any) -> None:
    error = CallError("transient_network_error", "CONNECTION_RESET", "Lost.", effect=effect, said=OWN_WORDS)
    assert advised(error, "en").suggested_fix.startswith("Never repeat it.")


def test_what_a_tool_says_stays() -> None:
    own = CallError("semantic_error", "NOT_FOUND", "Berkas tidak ada: x", said=OWN_WORDS)
    assert in_language(own, "id") is own


def test_a_code_of_the_policy_has_the_sentence_of_its_type() -> None:
    denial = CallError("policy_denied", "NO_REFUNDS_ON_SUNDAY", "No.")
    assert in_language(denial, "id").message == "Kebijakan tidak mengizinkan panggilan ini."


@pytest.mark.parametrize(
    ("why", "indonesian"),
    [
        ("a key is missing", "Argumennya bukan JSON yang sah (sebuah kunci tidak ada)."),
        ("more than 200 levels", "Argumennya bukan JSON yang sah (lebih dari 200 tingkat)."),
        ("'x.y'", "Argumennya bukan JSON yang sah ('x.y')."),
    ],
)
def test_the_reason_of_a_reader(why: str, indonesian: str) -> None:
    error = said("parse_error", "CALL_NOT_JSON", {"why": why})
    assert in_language(error, "id").message == indonesian


def test_every_reason_of_the_readers_is_translated() -> None:
    source = "".join(path.read_text("utf-8") for path in (ROOT / "src/gerbang/parse").rglob("*.py"))
    reasons = set(re.findall(r'(?:Broken|fault)\([^()]*"CALL_[A-Z_]+"[^()]*?, "([a-z][^"]+)"\)', source))
    assert len(reasons) > 30
    assert sorted(reasons - set(REASONS)) == []


def test_the_wire_form_has_texts_only() -> None:
    error = said("budget_exceeded", "BUDGET_CALLS", {"limit": 3})
    assert error.as_dict() == {
        "status": "error",
        "error_type": "budget_exceeded",
        "error_code": "BUDGET_CALLS",
        "message": "This run may make 3 calls; none is left.",
        "recoverable": False,
        "effect": "none",
        "suggested_fix": "Finish with what is known, and say what is missing.",
        "invalid_fields": (),
    }
