"""YAML as plain data: what could be read in two ways is refused, and every refusal names its place."""

from typing import Any

import pytest

from gerbang.errors import ConfigError, PolicyError
from gerbang.values.yamltext import read_yaml, read_yaml_documents


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("a: 1", {"a": 1}),
        (
            "a: [true, False, null, ~, -3, 0, 1.5, .5, 1.0e+3, x, 'yes', \"on\"]",
            {"a": [True, False, None, None, -3, 0, 1.5, 0.5, 1000.0, "x", "yes", "on"]},
        ),
        ("a: 'it''s'\nb: |\n  two\n  lines\n", {"a": "it's", "b": "two\nlines\n"}),
        ("a: '2026-01-01'", {"a": "2026-01-01"}),
        ("a: '0123'", {"a": "0123"}),
        ("{a: {b: {c: []}}}", {"a": {"b": {"c": []}}}),
        ("a: y", {"a": "y"}),
        ("a: no-thing", {"a": "no-thing"}),
        ("\ufeffa: 1", {"a": 1}),
    ],
)
def test_plain_data(text: str, value: Any) -> None:
    assert read_yaml(text, "f.yaml") == value


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "a: yes",
            "f.yaml: line 1, column 4: 'yes' can be read in two ways; write true or false, or quote it.",
        ),
        ("a: [x, No]", "line 1, column 8: 'No'"),
        ("a: on", "'on' can be read in two ways"),
        ("on: x", "line 1, column 1: 'on' can be read in two ways"),
        ("a: 0123", "'0123' can be read in two ways; write a plain decimal number"),
        ("a: 0x1F", "'0x1F'"),
        ("a: 0b1", "'0b1'"),
        ("a: 1_000", "'1_000'"),
        ("a: 12:30", "'12:30'"),
        ("a: 12:30:45.5", "'12:30:45.5'"),
        ("a: .inf", "'.inf'"),
        ("a: .NaN", "'.NaN'"),
        ("a: 2026-01-01", "'2026-01-01' can be read in two ways; quote dates and times."),
        ("a: 2026-01-01 10:00:00", "quote dates and times"),
        ("a: 1\na: 2", "line 2, column 1: the key 'a' stands here twice."),
        ("a: {b: 1, b: 2}", "line 1, column 11: the key 'b' stands here twice."),
        ("1: x", "line 1, column 1: keys must be text; quote '1'."),
        ("true: x", "keys must be text"),
        ("null: x", "keys must be text"),
        ("? [a, b]\n: x", "keys must be text"),
        ("? {a: b}\n: x", "keys must be text"),
        ("a: &x 1", "line 1, column 4: anchors and aliases are not allowed."),
        ("a: *x", "anchors and aliases are not allowed"),
        ("a: &a [x]\nb: &b [*a, *a]\nc: [*b, *b]", "anchors and aliases"),
        ("a: !!python/object:os.system x", "line 1, column 4: tags are not allowed."),
        ("a: !local x", "tags are not allowed"),
        ("a: !!binary aGk=", "tags are not allowed"),
        ("a: !!set {x}", "tags are not allowed"),
        ("<<: {a: 1}", "f.yaml: line 1, column 1"),
        ("a:\n\t- x", "f.yaml: line 2, column 1"),
        ("a: [1, 2", "(while parsing a flow sequence from line 1, column 4)"),
        ("a: !!str &x 1", "anchors and aliases are not allowed"),
        ("a: =", "'=' can be read in two ways; quote it"),
        ("- [a]\n- {[b]: c}", "line 2, column 4: keys must be text"),
        ("a:\n" + "".join("  " * n + "- \n" for n in range(1, 120)), "the nesting is deeper than 100 levels"),
        ("a: 'x", "f.yaml: line 1"),
        ("a: b: c", "f.yaml: line 1, column 5"),
        ("a: 1\n---\nb: 2", "f.yaml: line 2"),
        ("a: \x00", "f.yaml: this is not usable YAML"),
        ("[" * 5000, "f.yaml"),
        ("a: " + "9" * 5000, "f.yaml: this is not usable YAML"),
    ],
)
def test_refusals_name_the_place(text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_yaml(text, "f.yaml")
    assert says in str(caught.value)
    assert len(str(caught.value)) < 400


def test_documents_come_with_the_line_where_each_begins() -> None:
    text = "# first\na: 1\n---\n# second\nb: [2]\n---\n---\nc: 3\n"
    assert list(read_yaml_documents(text, "f.yaml")) == [
        (2, {"a": 1}),
        (3, {"b": [2]}),
        (6, None),
        (7, {"c": 3}),
    ]
    assert list(read_yaml_documents("", "f.yaml")) == []


def test_a_huge_file_is_refused_before_it_is_read() -> None:
    with pytest.raises(PolicyError, match="4000001 characters"):
        read_yaml("#" * 4_000_001, "f.yaml", PolicyError)


def test_long_keys_are_not_quoted_in_full() -> None:
    with pytest.raises(ConfigError) as caught:
        read_yaml(f"{'k' * 900}: 1\n{'k' * 900}: 2", "f.yaml")
    assert len(str(caught.value)) < 300
