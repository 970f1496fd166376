"""Foreign text on a terminal."""

import json

import pytest

from gerbang.cli.safe_text import json_safe, one_line, printable
from gerbang.cli.table import rows, width


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, with ü and 日本", "plain, with ü and 日本"),
        ("line\nand\ttab", "line\nand\ttab"),
        ("windows\r\nline", "windows\nline"),
        ("over\rwrite", "over\\x0dwrite"),
        ("\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("safe\u202egnp.exe", "safe\\u202egnp.exe"),
        ("in\u200bvisible\ufeff", "in\\u200bvisible\\ufeff"),
        ("half \ud800", "half \\ud800"),
        ("tag \U000e0041", "tag \\U000e0041"),
        ("family \U0001f468\u200d\U0001f469", "family \U0001f468\u200d\U0001f469"),
        ("nul\x00 del\x7f", "nul\\x00 del\\x7f"),
    ],
)
def test_printable(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("a\nb\tc", 20, "a\\nb\\tc"),
        ("abcdef", 6, "abcdef"),
        ("abcdefg", 6, "abcde…"),
        ("\x1b" * 100, 8, "\\x1b\\x1…"),
        ("x" * 10_000_000, 5, "xxxx…"),
    ],
)
def test_one_line(text: str, limit: int, shown: str) -> None:
    assert one_line(text, limit) == shown


def test_table_counts_the_columns_of_the_terminal() -> None:
    assert list(rows(("name", "what"), [("日本", "wide"), ("e\u0301", "combined"), ("abcde", "x")])) == [
        "NAME   WHAT",
        "日本   wide",
        "e\u0301      combined",
        "abcde  x",
    ]
    assert width("日本") == 4


def test_json_for_a_terminal_has_the_same_value() -> None:
    value = {"a\x7f": "\x9b2J \u202e \u200b \U000e0041 \x1b[2J é 😀\n\t"}
    text = json_safe(json.dumps(value, ensure_ascii=False))
    assert json.loads(text) == value
    assert "é 😀" in text
    assert printable(text) == text
