"""The texts of the commands: both languages whole, each one used, and what a person gets to read."""

import re
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gerbang.adapters.models.foreign import answered
from gerbang.cli.app import run
from gerbang.cli.texts import TEXTS, language, say, speak

SOURCES = "\n".join(
    path.read_text("utf-8")
    for path in sorted((Path(__file__).resolve().parents[2] / "src/gerbang/cli").glob("*.py"))
    if path.name != "texts.py"
)
BUILT = {"kind_", "end_", "why_class_", "label_"}
"""Beginnings of names that are put together where they are said."""


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    speak("en")
    yield
    speak("en")


def names(text: str) -> set[str]:
    return {str(name) for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def columns(text: str) -> int:
    return re.sub(r"\{[^}]*\}", "", text).count("|")  # within braces it stands between forms of a noun


@pytest.mark.parametrize("key", TEXTS)
def test_both_languages_say_the_same_particulars(key: str) -> None:
    english, indonesian = TEXTS[key]
    assert english
    assert indonesian
    assert names(english) == names(indonesian)
    assert english.endswith(".") == indonesian.endswith(".")
    assert columns(english) == columns(indonesian)


def test_every_text_is_said_somewhere_and_every_one_said_is_there() -> None:
    said = set(re.findall(r'"([a-z_0-9]+)"', SOURCES)) | set(re.findall(r"'([a-z_0-9]+)'", SOURCES))
    unused = [key for key in TEXTS if key not in said and not key.startswith(tuple(BUILT))]
    assert unused == []
    assert set(re.findall(r"""\bsay\(["']([a-z_0-9]+)["']""", SOURCES)) <= set(TEXTS)


def test_a_language_that_is_not_known_is_english() -> None:
    speak("id")
    assert (language(), say("nothing_run")) == ("id", "Tidak ada yang dijalankan.")
    speak("fr")
    assert (language(), say("nothing_run")) == ("en", "Nothing was run.")


ID = ["--lang", "id", "--store", "memory:", "--workspace", "."]


@pytest.mark.parametrize(
    ("arguments", "code", "out", "err"),
    [
        (["call", "hitung", '{"ekspresi": "6 * 7"}', *ID], 0, ["42"], []),
        (
            ["call", "hitung", "{}", *ID],
            1,
            [],
            ["MISSING_FIELD: Argumennya tidak cocok", "wajib", "Perbaiki"],
        ),
        (
            ["call", "hitung", "{", *ID],
            2,
            [],
            ["Galat: Argumen bukan JSON yang sah", "kolom 2", "Tulis objek"],
        ),
        (["call", "hitung", "[1]", *ID], 2, [], ["Galat: Argumen berupa daftar, bukan objek."]),
        (["call", "hitung", '{"a": NaN}', *ID], 2, [], ["NaN bukan bilangan JSON"]),
        (["call", "tambah", "{}", *ID], 1, [], ["TOOL_UNKNOWN: ", "Pakai salah satu tool"]),
        (
            ["call", "hitung", '{"ekspresi": "1"}', "--dry-run", *ID],
            0,
            ["Keputusan: allow", "Tidak ada yang"],
            [],
        ),
        (["call", "hitung", "{}", "--dry-run", *ID], 1, ["Keputusan: deny", "Perbaiki field"], []),
        (
            ["call", "hitung", "{}", *ID, "--workspace", "tiada"],
            2,
            [],
            ["Galat: Folder tiada tidak ada. Buat"],
        ),
        (["call", "hitung", "{}", *ID, "--python", "a"], 2, [], ["--python menerima MODULE:NAME"]),
        (["call", "hitung", "{}", *ID, "--python", "tiada:b"], 2, [], ["Modul 'tiada' tidak ditemukan"]),
        (["tools", "list", "--lang", "id"], 0, ["KELAS RISIKO", "hitung"], []),
        (
            ["tools", "show", "tambah", "--lang", "id"],
            2,
            [],
            ["Galat: Tool tidak dikenal: tambah. Tool yang"],
        ),
        (["tools", "approve", "--store", "memory:"], 2, [], ["--contracts PATH"]),
        (["runs", "list", "--lang", "id"], 0, [], ["Belum ada run yang tercatat"]),
        (["runs", "show", "x", "--lang", "id"], 2, [], ["Galat: Tidak ada run x"]),
        (["runs", "resume", "x", "--lang", "id"], 2, [], ["Galat: Belum ada penyimpanan"]),
        (["chat", "", "--lang", "id"], 2, [], ["Galat: Permintaan kosong."]),
        (["chat", "a", "--lines", "--lang", "id"], 2, [], ["--lines membaca permintaan"]),
        (
            ["chat", "a", "--lang", "fr"],
            2,
            [],
            ["Error: The setting lang as an option is one of: en, id; not 'fr'."],
        ),
        (
            ["chat", "a", "--policy", "no.yaml"],
            2,
            [],
            ["no.yaml: the policy cannot be read: No such file or"],
        ),
    ],
)
def test_what_a_person_reads(
    arguments: list[str], code: int, out: list[str], err: list[str],
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == code
    shown = capsys.readouterr()
    for wanted, text in ((out, shown.out), (err, shown.err)):
        assert bool(wanted) == bool(text)
        rest = text
        for part in wanted:
            _, found, rest = rest.partition(part)
            assert found, f"{part!r} is not in {text!r}"
    assert shown.err.count("no.yaml") <= 1


@pytest.mark.parametrize("arguments", [["tools", "list"], ["tools", "show", "read_file"]])
def test_looking_at_tools_makes_nothing(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == 0
    assert "read_file" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_the_list_of_runs_names_the_tools_that_were_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["call", "calculate", '{"expression": "1 + 1"}']) == 0
    capsys.readouterr()
    assert run(["runs", "list"]) == 0
    assert capsys.readouterr().out.splitlines()[1].endswith("  call calculate")


@pytest.mark.parametrize(
    ("status", "body", "text"),
    [
        (404, b"<!DOCTYPE html><p>no", "answered 404 with an HTML page. Is this the address of the API?"),
        (404, b'{"error": {"message": "model not found"}}', "answered 404: model not found."),
        (400, b"Why?", "answered 400: Why?"),
        (500, b"", "answered 500."),
        (401, b"bad key s3cret", "answered 401: bad key ***."),
    ],
)
def test_what_a_server_answered_is_a_sentence(status: int, body: bytes, text: str) -> None:
    assert answered(status, body, "s3cret") == text


def test_settings_are_read_in_the_language_they_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    environ: dict[str, Any] = {"GERBANG_LANG": "id", "GERBANG_STORE": "memory:"}
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert run(["tools", "show", "tambah"]) == 2
    assert capsys.readouterr().err.startswith("Galat: ")
