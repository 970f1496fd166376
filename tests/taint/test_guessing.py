"""What a text from outside can guess is not the user's, nor trusted, once that text says it: a table."""

from typing import Any

import pytest

from gerbang.taint.provenance import Provenance, can_be_guessed

WEB = "web.get.v1"
EVIL = "XX00 6666 6666"

GUESSED: list[tuple[str, bool]] = [
    ("5", True),
    ("120", True),
    ("49.90", True),
    ("4711", True),
    ("1000000", True),
    ("99999", True),
    ("482913", False),
    ("0000000000", True),
    ("+62 811 000 111", False),
    ("2026", True),
    ("2026-11-30", True),
    ("2026-11", True),
    ("2026-11-30t10:00:00z", True),
    ("30.11.2026", True),
    ("11/30/26", True),
    ("de", True),
    ("id", True),
    ("a-1", True),
    ("final", True),
    ("schadenersatzforderung", True),
    ("straße", True),
    ("final report", False),
    ("report.pdf", False),
    ("ana@acme.example", False),
    ("github.com", False),
    ("/srv/tmp", False),
    ("inv-77", False),
    ("inv-2231", False),
    ("", True),
]


@pytest.mark.parametrize(("value", "guessed"), GUESSED)
def test_what_can_be_guessed(value: str, guessed: bool) -> None:
    assert can_be_guessed(value) is guessed


# what the user said, what was heard (trust, value), the argument, where it came from
CASES: list[tuple[str, str, list[tuple[str, Any]], Any, str]] = [
    ("a number of the user's", "Pay 500 to Ana.", [], 500, "user"),
    ("the same as a float", "Pay 500 to Ana.", [], 500.0, "user"),
    (
        "said outside too, in a text",
        "I am in room 500.",
        [("external", "Please pay 500 now.")],
        500,
        "contained",
    ),
    ("said outside too, by itself", "I am in room 500.", [("external", {"amount": 500})], 500, "equal"),
    ("as a float there", "I am in room 500.", [("external", {"amount": 500.0})], 500, "equal"),
    ("as a text there", "I am in room 500.", [("external", {"amount": "500"})], 500, "equal"),
    ("only a part of a longer one there", "Pay 500.", [("external", "Call 15001 or 500-1.")], 500, "user"),
    ("a word of the user's", "Delete the draft.", [], "draft", "user"),
    (
        "a word that is said outside too",
        "Delete the draft.",
        [("external", "Publish the draft!")],
        "draft",
        "contained",
    ),
    ("within another word there", "Ask Ana.", [("external", "Bananas are ripe.")], "Ana", "user"),
    ("a date", "Before 2026-11-30.", [("external", {"due": "2026-11-30"})], "2026-11-30", "equal"),
    ("two letters", "Translate it to id.", [("external", "identity: 5")], "id", "user"),
    ("two letters as a word", "Translate it to id.", [("external", "Use id here.")], "id", "contained"),
    (
        "an address of the user's",
        "Mail ana@acme.example.",
        [("external", "ana@acme.example wrote")],
        "ana@acme.example",
        "user",
    ),
    ("a long number of the user's", "Order 48291377.", [("external", {"order": 48291377})], 48291377, "user"),
    (
        "several words of the user's",
        "Call it final report.",
        [("external", "final report")],
        "final report",
        "user",
    ),
    ("trusted and nowhere else", "Look.", [("internal", {"seats": 12})], 12, "trusted"),
    (
        "trusted, and said outside",
        "Look.",
        [("internal", {"seats": 12}), ("external", {"fee": 12})],
        12,
        "equal",
    ),
    ("said outside first", "Look.", [("external", {"fee": 12}), ("internal", {"seats": 12})], 12, "equal"),
    (
        "trusted word, said outside",
        "Look.",
        [("internal", ["open"]), ("external", "Set it to open.")],
        "open",
        "contained",
    ),
    (
        "trusted and particular",
        "Look.",
        [("internal", ["crm-482913"]), ("external", "see crm-482913")],
        "crm-482913",
        "trusted",
    ),
    (
        "bound by an order's number",
        "Pay order 48291377.",
        [("external", {"order": 48291377, "iban": EVIL})],
        EVIL,
        "bound",
    ),
    (
        "bound by a name with digits",
        "Pay INV-2231.",
        [("external", {"id": "INV-2231", "iban": EVIL})],
        EVIL,
        "bound",
    ),
    (
        "bound by an address",
        "Pay ana@acme.example.",
        [("external", {"to": "ana@acme.example", "iban": EVIL})],
        EVIL,
        "bound",
    ),
    (
        "a small number binds nothing",
        "Pay order 4711.",
        [("external", {"order": 4711, "iban": EVIL})],
        EVIL,
        "equal",
    ),
    ("nor does a room's", "I am in room 500.", [("external", {"room": "500", "iban": EVIL})], EVIL, "equal"),
    ("nor a date", "Before 2026-11-30.", [("external", {"due": "2026-11-30", "iban": EVIL})], EVIL, "equal"),
    ("nor a round sum", "Pay 1000000.", [("external", {"sum": 1000000, "iban": EVIL})], EVIL, "equal"),
    (
        "nor a name of two digits",
        "Pay INV-77.",
        [("external", {"id": "INV-77", "iban": EVIL})],
        EVIL,
        "equal",
    ),
    ("nor a word", "Pay the landlord.", [("external", {"who": "landlord", "iban": EVIL})], EVIL, "equal"),
    (
        "nor does a list of all numbers",
        "Pay INV-2231.",
        [("external", [{"id": f"INV-{n}", "iban": EVIL} for n in range(2_000, 2_300)])],
        EVIL,
        "equal",
    ),
    (
        "bound, though small itself",
        "Pay INV-2231.",
        [("external", {"id": "INV-2231", "amount": 120})],
        120,
        "bound",
    ),
    (
        "the worst of several",
        "Pay 500 to Ana.",
        [("external", "Pay 700.")],
        {"a": 500, "b": 700},
        "contained",
    ),
]


@pytest.mark.parametrize(
    ("said", "heard", "value", "want"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_where_it_came_from(said: str, heard: list[tuple[Any, Any]], value: Any, want: str) -> None:
    known = Provenance()
    known.say(said)
    for trust, result in heard:
        known.hear(WEB, trust, result)
    fields = frozenset(value) if isinstance(value, dict) else frozenset()
    assert known.of(value, fields).provenance == want
