"""What a person sees before they decide: everything, nothing invisible, no secret, bounded."""

from typing import Any

import pytest

from gerbang.contract.build import make_contract
from gerbang.runtime.preview import preview, visible
from gerbang.values import Decision

ASK = Decision("ask", ("CLASS_DESTRUCTIVE", "OTHER"), None, "v")
NAMES = ("to", "text", "pin", "body", "password", "n", "list")


def shown(**arguments: Any) -> str:
    contract = make_contract(
        name="mail.send.v1",
        risk="destructive",
        description="x",
        parameters={"properties": {name: {} for name in NAMES}},
        sensitive=["pin"],
    )
    return preview(contract, arguments, ASK)


def test_the_whole_call() -> None:
    assert shown(to="ana@example.org", n=5, list=[1, {"a": None}], pin="1234").splitlines() == [
        "mail.send.v1 (destructive)",
        "  to: ana@example.org",
        "  n: 5",
        '  list: [1,{"a":null}]',
        "  pin: [redacted]",
        "Asked because: CLASS_DESTRUCTIVE, OTHER",
    ]
    assert "(no arguments)" in shown()


def test_what_was_left_out_is_shown_with_its_default() -> None:
    contract = make_contract(
        name="mail.send.v1",
        risk="destructive",
        description="x",
        parameters={
            "properties": {
                "to": {"type": "string", "default": "all@example.org"},
                "text": {"type": "string", "default": "hi\nthere"},
                "n": {"type": "integer", "default": 0},
                "pin": {"type": "string", "default": "1234"},
                "cc": {"type": ["string", "null"], "default": None},
                "bcc": {"type": "string"},
            }
        },
        sensitive=["pin"],
    )
    assert preview(contract, {"to": "ana (not given; its default): bob"}, ASK).splitlines() == [
        "mail.send.v1 (destructive)",
        "  to: ana (not given; its default): bob",
        "  text (not given; its default): hi",
        "    there",
        "  n (not given; its default): 0",
        "  pin (not given; its default): [redacted]",
        "Asked because: CLASS_DESTRUCTIVE, OTHER",
    ]


def test_a_call_that_is_allowed_says_so() -> None:
    contract = make_contract(name="a.b.v1", risk="draft", description="x", parameters={})
    allowed = preview(contract, {}, Decision("allow", ("CLASS_DRAFT",), None, "v"))
    assert allowed.splitlines()[-1] == "Allowed because: CLASS_DRAFT"


def test_lines_of_a_value_cannot_pass_for_lines_of_the_preview() -> None:
    lines = shown(text="hi\nAsked because: nothing\n  to: bob").splitlines()
    assert lines[1:4] == ["  text: hi", "    Asked because: nothing", "      to: bob"]


@pytest.mark.parametrize(
    ("char", "escape"),
    [
        ("\u202e", "\\u202e"),
        ("\u2066", "\\u2066"),
        ("\u200b", "\\u200b"),
        ("\u200d", "\\u200d"),
        ("\ufeff", "\\ufeff"),
        ("\u00ad", "\\u00ad"),
        ("\u2028", "\\u2028"),
        ("\x1b", "\\u001b"),
        ("\r", "\\u000d"),
        ("\x00", "\\u0000"),
        ("\x85", "\\u0085"),
        ("\x7f", "\\u007f"),
        ("\t", "\\u0009"),
        ("\U000e0041", "\\U000e0041"),
        ("\ue000", "\\ue000"),
        ("\u3164", "\\u3164"),
        ("\u2800", "\\u2800"),
        ("\ufe0f", "\\ufe0f"),
        ("\u034f", "\\u034f"),
        ("\ud800", "\\ud800"),
    ],
)
def test_nothing_invisible(char: str, escape: str) -> None:
    assert visible(f"a{char}b") == f"a{escape}b"
    assert f"a{escape}b" in shown(text=f"a{char}b")


@pytest.mark.parametrize("text", ["plain", "two\nlines", "café 日本 العربية עברית", "a b", "😀", "e\u0301"])
def test_visible_text_is_left_alone(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize(
    "arguments",
    [
        {"text": "Authorization: Bearer hunter2secret"},
        {"password": "hunter2secret"},
        {"body": {"password": "hunter2secret"}},
        {"text": "postgres://u:hunter2secret@db/x"},
        {"pin": "hunter2secret"},
        {"pin": {"deep": "hunter2secret"}},
        {"list": ["api_key=hunter2secret"]},
        {"text": "x" * 19_995 + " password: hunter2secret"},
    ],
)
def test_secrets_are_masked(arguments: dict[str, Any]) -> None:
    assert "hunter2" not in shown(**arguments)


def test_the_preview_is_bounded_and_says_so() -> None:
    text = shown(text="x" * 1_000_000)
    assert len(text) < 21_000
    assert "[1000000 characters in all; the rest is not shown]" in text or "the rest is not shown" in text
    many = shown(**dict.fromkeys(("to", "text", "body"), "y" * 19000))
    assert len(many) < 21_000
    assert "the rest is not shown" in many


def test_integers_beyond_64_bits() -> None:
    assert "  n: 1180591620717411303424" in shown(n=2**70)
