"""Safe arithmetic on text: numbers, `+ - * / // % **`, unary minus and parentheses, and nothing else.

Values are exact fractions, so 0.1 + 0.2 is 0.3 and 1 / 3 * 3 is 1. Text length, nesting and the size of every
intermediate value are bounded, so the work is too: the longest expression takes a few milliseconds.
"""

import ast
import math
import operator
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Final, Literal

Reason = Literal[
    "EMPTY", "TOO_LONG", "TOO_DEEP", "CARET", "COMMA", "PERCENT", "NAME", "CHARACTER",
    "SYNTAX", "DIVISION_BY_ZERO", "TOO_LARGE", "NOT_REAL",
]  # fmt: skip
MAX_CHARS: Final = 1_000
MAX_PARENTHESES: Final = 100
MAX_DIGITS: Final = 300
_LIMIT: Final = 10**MAX_DIGITS
_EXACT_INT: Final = 2**53  # whole numbers beyond it are changed by readers that hold numbers as doubles
_TYPOGRAPHY: Final = str.maketrans({"×": "*", "÷": "/", "−": "-", "\n": " ", "\r": " ", "\t": " "})
_FOREIGN: Final = re.compile(r"[^0-9eE_.+\-*/%() ]|(?<![0-9.])[eE]|(?<![0-9])_")
# A share such as `12%` or `12% of 340`, as opposed to the remainder `12 % 5`.
_PERCENT_SIGN: Final = re.compile(r"%\s*(?:$|[-+*/)])|(?<=\S)%\s|%\s*(?:of|dari)\b")
_WORD: Final = re.compile(r"\w{1,30}")
_REASONS: Final[dict[str, Reason]] = {"^": "CARET", ",": "COMMA"}


class CalculationError(ValueError):
    """The text has no value. `reason` says why; `found` is the character or word that does not belong."""

    def __init__(self, reason: Reason, found: str = "") -> None:
        super().__init__(reason)
        self.reason: Reason = reason
        self.found = found


def evaluate(text: str) -> int | float | str:
    """Return the value: an int, a float, or the digits as text for whole numbers beyond 2**53.

    Raises CalculationError for anything that is not plain arithmetic or is larger than 300 digits.
    """
    if len(text) > MAX_CHARS:
        raise CalculationError("TOO_LONG")
    text = text.translate(_TYPOGRAPHY).strip()
    _check_text(text)
    try:
        body = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # all that the parser raises
        raise CalculationError("SYNTAX") from None
    value = _run(body, text)
    if value.denominator != 1:
        return float(value)
    return int(value) if abs(value) <= _EXACT_INT else str(int(value))


def _check_text(text: str) -> None:
    if not text:
        raise CalculationError("EMPTY")
    if _PERCENT_SIGN.search(text):
        raise CalculationError("PERCENT")
    foreign = _FOREIGN.search(text)
    if foreign is not None:
        found = foreign.group()
        if not (found.isalpha() or found == "_"):
            raise CalculationError(_REASONS.get(found, "CHARACTER"), found)
        raise CalculationError("NAME", _WORD.match(text, foreign.start())[0])  # type: ignore[index]
    depth = 0
    for sign in text:
        depth += (sign == "(") - (sign == ")")
        if depth > MAX_PARENTHESES:
            raise CalculationError("TOO_DEEP")


def _run(body: ast.expr, text: str) -> Fraction:
    todo, order = [body], []
    while todo:  # a loop, not recursion: a long sum is a deep tree
        node = todo.pop()
        order.append(node)
        if isinstance(node, ast.BinOp):
            todo += (node.left, node.right)
        elif isinstance(node, ast.UnaryOp):
            todo.append(node.operand)
    values: list[Fraction] = []
    for node in reversed(order):
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            value = _literal(text[node.col_offset : node.end_col_offset])
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            value = -values.pop() if isinstance(node.op, ast.USub) else values.pop()
        elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            right, left = values.pop(), values.pop()
            value = _OPERATORS[type(node.op)](left, right)
        else:  # a call such as 2(3), an attribute, an empty tuple
            raise CalculationError("SYNTAX")
        values.append(_bounded(value))
    return values.pop()


def _literal(digits: str) -> Fraction:
    # An exponent is never expanded exactly: 1e999999999 would not fit in memory.
    return _from_float(float(digits)) if "e" in digits.lower() else Fraction(digits)


def _divide(
    left: Fraction, right: Fraction, by: Callable[[Fraction, Fraction], Fraction | int] = operator.truediv
) -> Fraction:
    if right == 0:
        raise CalculationError("DIVISION_BY_ZERO")
    return Fraction(by(left, right))


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if base == 0 and exponent < 0:
        raise CalculationError("DIVISION_BY_ZERO")
    if base in (0, 1, -1) and exponent.denominator == 1:
        return base ** int(exponent % 2) if base else Fraction(exponent == 0)
    if exponent.denominator == 1:
        bits = max(abs(base.numerator), base.denominator).bit_length() * abs(exponent)
        if bits <= 2 * _LIMIT.bit_length():
            return base ** int(exponent)
        if base.denominator == 1 and exponent > 0:
            raise CalculationError("TOO_LARGE")
    if base < 0 and exponent.denominator != 1:
        raise CalculationError("NOT_REAL")
    try:
        return _from_float(math.pow(base, exponent))
    except OverflowError:
        raise CalculationError("TOO_LARGE") from None


def _from_float(value: float) -> Fraction:
    if not math.isfinite(value):
        raise CalculationError("TOO_LARGE")
    return Fraction(repr(value))


def _bounded(value: Fraction) -> Fraction:
    if abs(value) >= _LIMIT:
        raise CalculationError("TOO_LARGE")
    return value if value.denominator < _LIMIT else _from_float(float(value))


_OPERATORS: Final[dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _divide,
    ast.FloorDiv: lambda left, right: _divide(left, right, operator.floordiv),
    ast.Mod: lambda left, right: _divide(left, right, operator.mod),
    ast.Pow: _power,
}
