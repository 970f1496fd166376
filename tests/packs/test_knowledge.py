"""The knowledge base: what is found, in which order, and what cannot be opened."""

import os
from pathlib import Path

import pytest

from gerbang.errors import ConfigError
from gerbang.packs.knowledge import open_knowledge

FILES = {
    "refunds.md": "# Refunds\n\nMoney is paid back in 14 days.\n\n## Late\n\nHalf is paid back.\n",
    "hours.md": "Open from 9 to 5.\n\n```\n# not a heading\n```\n\n# Holidays ##\n\n"
    "Closed on 1 May.\n#nospace\n",
    "deep/stalls.MD": "\ufeff# Stalls\nA stall costs 18 euros. A stall has a table.\n"
    "# Empty\n\n# Food\nFood stall rules.\n",
    "ignored.txt": "refunds refunds refunds",
}

FOUND = [
    ("refund", ["refunds.md # Refunds"]),
    ("REFUNDS", ["refunds.md # Refunds"]),
    ("When are refunds paid back?", ["refunds.md # Refunds", "refunds.md # Late"]),
    ("late", ["refunds.md # Late"]),
    ("holidays", ["hours.md # Holidays"]),
    ("not a heading", ["hours.md"]),
    ("hours", ["hours.md"]),
    ("stalls", ["deep/stalls.MD # Stalls"]),
    ("what does a stall cost", ["deep/stalls.MD # Stalls", "deep/stalls.MD # Food"]),
    ("food stall", ["deep/stalls.MD # Food", "deep/stalls.MD # Stalls"]),
    ("zebra", []),
    ("what is the", []),
    ("", []),
    ("?!", []),
    ("\ud800\0", []),
    ("zebra " * 100_000, []),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    (tmp_path / "link.md").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe.md")
    return tmp_path


@pytest.mark.parametrize(("query", "sources"), FOUND)
def test_search(folder: Path, query: str, sources: list[str]) -> None:
    knowledge = open_knowledge(folder)
    assert [entry.source for entry in knowledge.search(query)] == sources
    assert knowledge.search(query) == open_knowledge(folder).search(query)


def test_sections(folder: Path) -> None:
    assert [(entry.source, entry.text) for entry in open_knowledge(folder).entries] == [
        ("hours.md", "Open from 9 to 5.\n\n```\n# not a heading\n```"),
        ("hours.md # Holidays", "Closed on 1 May.\n#nospace"),
        ("refunds.md # Refunds", "Money is paid back in 14 days."),
        ("refunds.md # Late", "Half is paid back."),
        ("deep/stalls.MD # Stalls", "A stall costs 18 euros. A stall has a table."),
        ("deep/stalls.MD # Food", "Food stall rules."),
    ]


def test_equal_scores_keep_the_order_of_the_files(tmp_path: Path) -> None:
    for name in "dbeca":
        (tmp_path / f"{name}.md").write_text("the same words here")
    found = open_knowledge(tmp_path).search("same words")
    assert [entry.source for entry in found] == ["a.md", "b.md", "c.md"]


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        ("ibu kota", ["Jakarta"]),
        ("IBU KOTA", ["Jakarta"]),
        ("mata uang", ["Rupiah"]),
        ("apa mata uang Indonesia?", ["Rupiah"]),
        ("no", ["kept as text"]),
        ("jam", ["08:00"]),
        ("presiden", []),
    ],
)
def test_yaml(tmp_path: Path, query: str, texts: list[str]) -> None:
    file = tmp_path / "kb.yaml"
    file.write_text("ibu kota: Jakarta\nmata uang: Rupiah\nno: kept as text\njam: 08:00\n")
    assert [entry.text for entry in open_knowledge(file).search(query)] == texts


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"a: 1\nb: [\n", "is not YAML"),
        (b"- a\n- b\n", "must be a mapping"),
        (b"just text", "must be a mapping"),
        (b"a: 1\na: 2\n", "line 2: the key 'a' is given twice"),
        (b"a: {b: c}\n", "line 1: a key and its text must be plain text"),
        (b"? [a]\n: b\n", "line 1: a key and its text must be plain text"),
        (b"", "is empty"),
        (b"\xff\xfea", "not UTF-8"),
        (b"[" * 50_000, "nested too deeply"),
        (b"a: !!python/object/apply:os.system [id]\n", "plain text"),
        (b"a: \x01\n", "is not YAML"),
    ],
)
def test_yaml_that_cannot_be_used(tmp_path: Path, text: bytes, says: str) -> None:
    (tmp_path / "kb.yaml").write_bytes(text)
    with pytest.raises(ConfigError, match=says):
        open_knowledge(tmp_path / "kb.yaml")


def test_places_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="There is no knowledge base at"):
        open_knowledge(tmp_path / "nothing")
    with pytest.raises(ConfigError, match="is empty"):
        open_knowledge(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match="neither a folder nor a file"):
        open_knowledge(tmp_path / "pipe")
    (tmp_path / "a.md").write_bytes(b"caf\xe9")
    with pytest.raises(ConfigError, match="not UTF-8"):
        open_knowledge(tmp_path)


def test_too_large(tmp_path: Path) -> None:
    with open(tmp_path / "a.md", "wb") as file:
        file.truncate(33 * 1024 * 1024)
    with pytest.raises(ConfigError, match="too large"):
        open_knowledge(tmp_path)
    with pytest.raises(ConfigError, match="larger than"):
        open_knowledge(tmp_path / "a.md")
