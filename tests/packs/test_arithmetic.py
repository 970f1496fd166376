"""`evaluate`: a table of values, a table of refusals, and texts that try to escape or to exhaust."""

import random

import pytest

from gerbang.packs.arithmetic import CalculationError, evaluate

VALUES = [
    ("25 * 4 + 10", 110),
    ("0.1 + 0.2", 0.3),
    ("0.3 - 0.1", 0.2),
    ("1 / 3 * 3", 1),
    ("1 / 3", 0.3333333333333333),
    ("10 / 4", 2.5),
    ("10 / 2", 5),
    ("12 / 100 * 340", 40.8),
    ("7 // 2", 3),
    ("-7 // 2", -4),
    ("7 % 3", 1),
    ("-7 % 3", 2),
    ("7.5 % 2", 1.5),
    ("2 ** 10", 1024),
    ("2 ** -1", 0.5),
    ("2 ** 3 ** 2", 512),
    ("-2 ** 2", -4),
    ("(-2) ** 2", 4),
    ("2 ** 0.5", 1.4142135623730951),
    ("9 ** 0.5", 3),
    ("0 ** 0", 1),
    ("0 ** 5", 0),
    ("(1 + 0.05 / 365) ** 365", 1.0512674964674473),
    ("1 ** 99999999999", 1),
    ("(-1) ** 99999999999", -1),
    ("2 ** 53", 9007199254740992),
    ("2 ** 64", "18446744073709551616"),
    ("-(2 ** 64)", "-18446744073709551616"),
    ("10 ** 20 / 10 ** 20", 1),
    ("1e3", 1000),
    ("2.5E-1", 0.25),
    ("1_000 * 2", 2000),
    ("1.", 1),
    (".5", 0.5),
    ("3.0", 3),
    ("--5", 5),
    ("+5", 5),
    ("5 - -5", 10),
    ("(((1)))", 1),
    ("25 × 4 ÷ 2 − 1", 49),
    (" 1\n + 2 ", 3),
    ("0.1 ** 400", 0),
    ("+".join(["1"] * 500), 500),
    ("(" * 100 + "1" + ")" * 100, 1),
    ("9" * 300, "9" * 300),
]

REFUSED = [
    ("", "EMPTY", ""),
    ("  \n ", "EMPTY", ""),
    ("2 ^ 3", "CARET", "^"),
    ("1,000 + 1", "COMMA", ","),
    ("12%", "PERCENT", ""),
    ("12% * 340", "PERCENT", ""),
    ("12% of 340", "PERCENT", ""),
    ("12 % dari 340", "PERCENT", ""),
    ("100 - 10% - 5", "PERCENT", ""),
    ("12% 340", "PERCENT", ""),
    ("1 / 0", "DIVISION_BY_ZERO", ""),
    ("1 // 0", "DIVISION_BY_ZERO", ""),
    ("1 % 0.0", "DIVISION_BY_ZERO", ""),
    ("0 ** -1", "DIVISION_BY_ZERO", ""),
    ("1 / (3 - 3)", "DIVISION_BY_ZERO", ""),
    ("9 ** 9 ** 9", "TOO_LARGE", ""),
    ("9**9**9**9**9", "TOO_LARGE", ""),
    ("2 ** 100000", "TOO_LARGE", ""),
    ("1.5 ** 100000", "TOO_LARGE", ""),
    ("10 ** 300", "TOO_LARGE", ""),
    ("1e999999999", "TOO_LARGE", ""),
    ("9" * 301, "TOO_LARGE", ""),
    ("9" * 1000, "TOO_LARGE", ""),
    ("9" * 1001, "TOO_LONG", ""),
    ("(" * 10_000 + "1" + ")" * 10_000, "TOO_LONG", ""),
    ("(" * 101 + "1" + ")" * 101, "TOO_DEEP", ""),
    ("(-8) ** (1 / 3)", "NOT_REAL", ""),
    ("(1", "SYNTAX", ""),
    ("1)", "SYNTAX", ""),
    ("()", "SYNTAX", ""),
    ("1 +", "SYNTAX", ""),
    ("* 2", "SYNTAX", ""),
    ("2(3)", "SYNTAX", ""),
    ("(2)(3)", "SYNTAX", ""),
    ("007 + 1", "SYNTAX", ""),
    ("1 000", "SYNTAX", ""),
    ("...", "SYNTAX", ""),
    ("1..2", "SYNTAX", ""),
    ("1e", "SYNTAX", ""),
    ("3 x 4", "NAME", "x"),
    ("__import__('os').system('id')", "NAME", "__import__"),
    ("().__class__", "NAME", "__class__"),
    ("1 .real", "NAME", "real"),
    ("abs(-1)", "NAME", "abs"),
    ("sqrt(4)", "NAME", "sqrt"),
    ("True", "NAME", "True"),
    ("1 if 1 else 2", "NAME", "if"),
    ("lambda: 1", "NAME", "lambda"),
    ("f'{1}'", "NAME", "f"),
    ("1j", "NAME", "j"),
    ("0x10", "NAME", "x10"),
    ("e1", "NAME", "e1"),
    ("_", "NAME", "_"),
    ("'a' * 9", "CHARACTER", "'"),
    ("1 < 2", "CHARACTER", "<"),
    ("25 * 4 =", "CHARACTER", "="),
    ("[1]", "CHARACTER", "["),
    ("~1", "CHARACTER", "~"),
    ("1; 2", "CHARACTER", ";"),
    ("1 & 2", "CHARACTER", "&"),
    ("5!", "CHARACTER", "!"),
    ("٣ + 1", "CHARACTER", "٣"),
    ("１ + 1", "CHARACTER", "１"),
    ("²", "CHARACTER", "²"),
    ("1\x00", "CHARACTER", "\x00"),
    ("\ud800", "CHARACTER", "\ud800"),
]


@pytest.mark.parametrize(("text", "value"), VALUES)
def test_value(text: str, value: int | float | str) -> None:
    result = evaluate(text)
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(("text", "reason", "found"), REFUSED)
def test_refusal(text: str, reason: str, found: str) -> None:
    with pytest.raises(CalculationError) as caught:
        evaluate(text)
    assert (caught.value.reason, caught.value.found) == (reason, found)


def test_no_text_of_the_alphabet_raises_anything_else() -> None:
    """Every text ends in a value or a CalculationError, whatever the parser thinks of it."""
    pieces = [
        *"()-+*/%. _",
        "**",
        "//",
        "1",
        "9",
        "0.1",
        "1e5",
        "1e-300",
        "999999999",
        "...",
        "((",
        "x",
        "'",
        "/0",
        "1/0",
    ]
    choose = random.Random(20)
    kinds = set()
    for _ in range(5_000):
        text = "".join(choose.choice(pieces) for _ in range(choose.choice((3, 6, 12, 60))))
        try:
            kinds.add(type(evaluate(text)).__name__)
        except CalculationError as error:
            kinds.add(error.reason)
    assert {"int", "float", "SYNTAX", "NAME", "CHARACTER", "TOO_LARGE", "DIVISION_BY_ZERO"} <= kinds
