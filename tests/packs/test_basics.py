"""The tools as a gateway gets them: names, contracts, values, and what every refusal says."""

import asyncio
import inspect
import os
from pathlib import Path
from typing import Any

import pytest

from gerbang.errors import ConfigError, ToolError
from gerbang.packs import basics
from gerbang.packs.basics.texts import ENGLISH, INDONESIAN
from gerbang.packs.sample import FOLDERS, KNOWLEDGE, copy_sample, make
from gerbang.values import CallContext, Principal

CONTEXT = CallContext(Principal(user="ana"), "r", 1, "c", "k")


class At:
    """A clock that stands at one moment: 2026-11-30 07:05:27 UTC, a Monday."""

    def now(self) -> float:
        return 1_796_022_327.0

    def monotonic(self) -> float:
        return 0.0


def use(tools: list[Any], name: str, **arguments: Any) -> Any:
    """Run one tool the way the executor does."""
    found = next(tool for tool in tools if tool.contract.name == name)
    if found.blocking:
        return found.invoke_sync(arguments, CONTEXT)
    return asyncio.run(found.invoke(arguments, CONTEXT))


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    (root / "sub").mkdir(parents=True)
    (root / "notes.txt").write_text("hello")
    (root / "long.txt").write_text("x" * 9_000)
    (root / "sub" / "a b.txt").write_text("x")
    (root / "bin").write_bytes(b"\0\1")
    (root / "out").symlink_to("/etc/passwd")
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "pipe")
    return root


EN = ["read_file", "list_files", "calculate", "current_time"]
ID = ["baca_berkas", "daftar_berkas", "hitung", "current_time"]


@pytest.mark.parametrize(
    ("lang", "knowledge", "names"),
    [
        ("en", None, EN),
        ("id", None, ID),
        ("en", {"a": "b"}, [*EN, "knowledge_search"]),
        ("id", {"a": "b"}, [*ID, "knowledge_search"]),
    ],
)
def test_names(ws: Path, lang: str, knowledge: dict[str, str] | None, names: list[str]) -> None:
    made = basics.tools(ws, lang=lang, knowledge=knowledge)
    assert [tool.contract.name for tool in made] == names


PARAMETERS = {
    "read_file": ({"path"}, ["path"], "read_internal"),
    "list_files": ({"folder"}, [], "read_internal"),
    "calculate": ({"expression"}, ["expression"], "compute"),
    "current_time": ({"zone"}, [], "compute"),
    "knowledge_search": ({"query"}, ["query"], "read_internal"),
    "baca_berkas": ({"jalur"}, ["jalur"], "read_internal"),
    "daftar_berkas": ({"folder"}, [], "read_internal"),
    "hitung": ({"ekspresi"}, ["ekspresi"], "compute"),
}
CALCULATORS = {"calculate", "calculator", "hitung"}


@pytest.mark.parametrize("lang", ["en", "id"])
def test_contracts(ws: Path, lang: str) -> None:
    for tool in basics.tools(ws, lang=lang, knowledge={"a": "b"}):
        contract = tool.contract
        fields, required, risk = PARAMETERS[contract.name]
        assert set(contract.parameters["properties"]) == fields
        assert contract.parameters["required"] == required
        assert contract.parameters["additionalProperties"] is False
        assert contract.risk == risk
        assert all(field["description"] for field in contract.parameters["properties"].values())
    for tool in basics.minimal_tools({"a": "b"}, lang=lang):
        assert set(tool.contract.parameters["properties"]) == {"input"}
        assert tool.contract.parameters["required"] == ["input"]


@pytest.mark.parametrize(
    ("lang", "use_it", "not_for", "changes", "returns", "every"),
    [
        ("en", "Use this", "Not for", "Changes nothing", "Returns", "every calculation"),
        ("id", "Pakai ini", "Bukan untuk", "Tidak mengubah", "Mengembalikan", "setiap perhitungan"),
    ],
)
def test_descriptions_say_when_and_when_not(
    ws: Path, lang: str, use_it: str, not_for: str, changes: str, returns: str, every: str
) -> None:
    made = [*basics.tools(ws, lang=lang, knowledge={"a": "b"}), *basics.minimal_tools({"a": "b"}, lang=lang)]
    for tool in made:
        text = tool.contract.description
        assert all(part in text for part in (use_it, not_for, changes, returns))
        assert len(text) < 400
        assert (every in text) == (tool.contract.name in CALCULATORS)


def test_tools_that_touch_files_block_and_the_others_do_not(ws: Path) -> None:
    blocking = {tool.contract.name for tool in basics.tools(ws, knowledge={"a": "b"}) if tool.blocking}
    assert blocking == {"read_file", "list_files", "current_time"}


VALUES: list[tuple[str, str, dict[str, Any], Any]] = [
    ("en", "read_file", {"path": "notes.txt"}, "hello"),
    ("en", "read_file", {"path": "long.txt"}, "x" * 8_000),
    ("en", "read_file", {"path": "sub/../notes.txt"}, "hello"),
    ("id", "baca_berkas", {"jalur": "notes.txt"}, "hello"),
    ("en", "list_files", {"folder": "sub"}, "sub/a b.txt"),
    ("en", "list_files", {"folder": "sub/"}, "sub/a b.txt"),
    ("id", "daftar_berkas", {"folder": "sub"}, "sub/a b.txt"),
    ("en", "calculate", {"expression": "25 * 4 + 10"}, 110),
    ("id", "hitung", {"ekspresi": "25 * 4 + 10"}, 110),
    ("id", "hitung", {"ekspresi": "2 ** 64"}, "18446744073709551616"),
    ("en", "current_time", {"zone": "Asia/Jakarta"}, "Monday 2026-11-30 14:05:27 +07:00 (Asia/Jakarta)"),
    ("id", "current_time", {"zone": "Asia/Jakarta"}, "Senin 2026-11-30 14:05:27 +07:00 (Asia/Jakarta)"),
    ("en", "current_time", {"zone": "utc"}, "Monday 2026-11-30 07:05:27 +00:00 (utc)"),
    (
        "en",
        "current_time",
        {"zone": "America/New_York"},
        "Monday 2026-11-30 02:05:27 -05:00 (America/New_York)",
    ),
    ("en", "knowledge_search", {"query": "currency"}, "[currency] Rupiah"),
    ("id", "knowledge_search", {"query": "the currency, please"}, "[currency] Rupiah"),
]


@pytest.mark.parametrize(("lang", "name", "arguments", "value"), VALUES)
def test_value(ws: Path, lang: str, name: str, arguments: dict[str, Any], value: Any) -> None:
    made = basics.tools(ws, lang=lang, knowledge={"currency": "Rupiah", "capital": "Jakarta"}, clock=At())
    assert use(made, name, **arguments) == value


@pytest.mark.parametrize(
    ("lang", "name", "lines"),
    [
        (
            "en",
            "list_files",
            [
                "bin", "long.txt", "loop (not an ordinary file, cannot be read)", "notes.txt",
                "out (link out of the workspace, cannot be read)",
                "pipe (not an ordinary file, cannot be read)", "sub/",
            ],
        ),
        (
            "id",
            "daftar_berkas",
            [
                "bin", "long.txt", "loop (bukan berkas biasa, tidak bisa dibaca)", "notes.txt",
                "out (tautan ke luar ruang kerja, tidak bisa dibaca)",
                "pipe (bukan berkas biasa, tidak bisa dibaca)", "sub/",
            ],
        ),
    ],
)  # fmt: skip
def test_listing(ws: Path, lang: str, name: str, lines: list[str]) -> None:
    assert use(basics.tools(ws, lang=lang), name).split("\n") == lines
    assert use(basics.tools(ws, lang=lang), name, folder=".").split("\n") == lines


def test_listing_escapes_bounds_and_says_empty(tmp_path: Path) -> None:
    made = basics.tools(tmp_path)
    assert use(made, "list_files") == "(empty)"
    assert use(basics.tools(tmp_path, lang="id"), "daftar_berkas") == "(kosong)"
    for name in ("a\nb", "tab\t", "rtl\u202e", "kopi ☕"):
        (tmp_path / name).touch()
    (tmp_path / os.fsdecode(b"bad\xff")).touch()
    assert use(made, "list_files").split("\n") == ["a\\nb", "bad\\xff", "kopi ☕", "rtl\\u202e", "tab\\t"]
    for number in range(300):
        (tmp_path / f"f{number:03}").touch()
    listed = use(made, "list_files").split("\n")
    assert listed[-1] == "... (305 entries, the first 200 are shown)"
    assert listed[2:4] == ["f000", "f001"]
    assert len(listed) == 201
    for number in range(100):
        (tmp_path / f"a{number:03}{'x' * 200}").touch()
    listed = use(made, "list_files")
    assert len(listed) <= 8_060
    assert listed.endswith("... (405 entries, the first 40 are shown)")


OUT = "permission_denied"
OUT_ID = "DITOLAK: jalur di luar ruang kerja."
OUT_EN = "REFUSED: the path is outside the workspace."
BAD = "semantic_error"
REFUSED: list[tuple[str, str, dict[str, Any], str, str, str]] = [
    ("id", "baca_berkas", {"jalur": "../x"}, "OUTSIDE_WORKSPACE", OUT, OUT_ID),
    ("id", "baca_berkas", {"jalur": "/etc/passwd"}, "OUTSIDE_WORKSPACE", OUT, OUT_ID),
    ("id", "baca_berkas", {"jalur": "out"}, "OUTSIDE_WORKSPACE", OUT, OUT_ID),
    ("id", "baca_berkas", {"jalur": "tak ada.txt"}, "NOT_FOUND", BAD, "Berkas tidak ada: tak ada.txt"),
    ("id", "baca_berkas", {"jalur": "a\nb"}, "NOT_FOUND", BAD, "Berkas tidak ada: a\\nb"),
    ("en", "read_file", {"path": "../x"}, "OUTSIDE_WORKSPACE", OUT, OUT_EN),
    ("en", "read_file", {"path": "none.txt"}, "NOT_FOUND", BAD, "No such file: none.txt"),
    ("en", "read_file", {"path": "n" * 900}, "NOT_FOUND", BAD, "No such file: " + "n" * 500 + "…"),
    ("en", "read_file", {"path": "{0}"}, "NOT_FOUND", BAD, "No such file: {0}"),
    ("en", "read_file", {"path": "sub"}, "IS_FOLDER", BAD,
     "sub is a folder. Call list_files to see what is in it."),
    ("en", "read_file", {"path": "bin"}, "NOT_TEXT", BAD,
     "bin is not a UTF-8 text file. Only text can be read."),
    ("en", "read_file", {"path": "loop"}, "TOO_MANY_LINKS", BAD,
     "loop is a chain or loop of links. Use another path."),
    ("id", "baca_berkas", {"jalur": "bin"}, "NOT_TEXT", BAD,
     "bin bukan berkas teks UTF-8. Hanya teks yang bisa dibaca."),
    ("en", "read_file", {"path": "pipe"}, "NOT_A_FILE", BAD,
     "pipe is a device, pipe or socket. Only ordinary files can be read."),
    ("en", "read_file", {"path": "a\0"}, "BAD_PATH", "validation_error",
     "That cannot be a path: at most 1024 characters, 64 folders deep, no NUL."),
    ("en", "list_files", {"folder": "none"}, "NOT_FOUND", BAD, "No such folder: none"),
    ("id", "daftar_berkas", {"folder": "none"}, "NOT_FOUND", BAD, "Folder tidak ada: none"),
    ("en", "list_files", {"folder": "/"}, "OUTSIDE_WORKSPACE", OUT, OUT_EN),
    ("en", "list_files", {"folder": "notes.txt"}, "NOT_A_FOLDER", BAD,
     "notes.txt is a file. Call read_file to read it."),
    ("id", "knowledge_search", {"query": "zebra"}, "NOT_FOUND", BAD, "Tidak ada di KB"),
    ("en", "knowledge_search", {"query": "zebra"}, "NOT_FOUND", BAD, "Not in the knowledge base"),
    ("en", "calculate", {"expression": "1/0"}, "DIVISION_BY_ZERO", BAD,
     "Division by zero has no value. Check the divisor."),
    ("id", "hitung", {"ekspresi": "9**9**9"}, "TOO_LARGE", BAD,
     "Angkanya terlalu besar: paling banyak 300 digit. Pakai angka lebih kecil."),
    ("id", "hitung", {"ekspresi": "2^3"}, "BAD_EXPRESSION", "validation_error",
     "`^` tidak dikenal. Tulis pangkat dengan **, misalnya 2 ** 10."),
    ("en", "calculate", {"expression": "12% of 340"}, "BAD_EXPRESSION", "validation_error",
     "`%` is the remainder of a division here, not percent. Write 12% of 340 as 12 / 100 * 340."),
    ("en", "calculate", {"expression": "__import__('os')"}, "BAD_EXPRESSION", "validation_error",
     "`__import__` is not known: only numbers, + - * / // % ** and parentheses. Write 3 * 4, not 3 x 4."),
    ("en", "calculate", {"expression": "1\x1b"}, "BAD_EXPRESSION", "validation_error",
     "`\\x1b` is not known: only numbers, + - * / // % ** and parentheses."),
    ("en", "current_time", {"zone": "Jakarta"}, "UNKNOWN_ZONE", "validation_error",
     "Unknown time zone: Jakarta. Use an IANA name such as Asia/Jakarta."),
    ("en", "current_time", {"zone": "new york"}, "UNKNOWN_ZONE", "validation_error",
     "Unknown time zone: new york. Use an IANA name such as America/New_York."),
    ("id", "current_time", {"zone": "../../etc/passwd"}, "UNKNOWN_ZONE", "validation_error",
     "Zona waktu tidak dikenal: ../../etc/passwd. Pakai nama IANA seperti Asia/Jakarta, Europe/Paris, UTC."),
    ("en", "current_time", {"zone": "America"}, "UNKNOWN_ZONE", "validation_error",
     "Unknown time zone: America. Use an IANA name such as Asia/Jakarta, Europe/Paris, UTC."),
    ("en", "current_time", {"zone": "\0"}, "UNKNOWN_ZONE", "validation_error",
     "Unknown time zone: \\x00. Use an IANA name such as Asia/Jakarta, Europe/Paris, UTC."),
]  # fmt: skip


@pytest.mark.parametrize(("lang", "name", "arguments", "code", "error_type", "message"), REFUSED)
def test_refusal(
    ws: Path, lang: str, name: str, arguments: dict[str, Any], code: str, error_type: str, message: str
) -> None:
    made = basics.tools(ws, lang=lang, knowledge={"currency": "Rupiah"}, clock=At())
    with pytest.raises(ToolError) as caught:
        use(made, name, **arguments)
    error = caught.value
    assert (error.code, error.error_type, error.message) == (code, error_type, message)
    assert error.recoverable == (error_type != "permission_denied")
    assert error.effect == "none"


def test_both_languages_have_every_text() -> None:
    assert ENGLISH.file.keys() == INDONESIAN.file.keys()
    assert ENGLISH.folder.keys() == INDONESIAN.folder.keys()
    assert ENGLISH.sums.keys() == INDONESIAN.sums.keys()
    assert set(inspect.signature(basics.tools).parameters) == {"workspace", "lang", "knowledge", "clock"}


@pytest.mark.parametrize("lang", ["en", "id"])
def test_minimal(lang: str) -> None:
    made = basics.minimal_tools({"capital": "Jakarta"}, lang=lang)
    assert [tool.contract.name for tool in made] == ["calculator", "knowledge_search"]
    assert use(made, "calculator", input="25 * 4 + 10") == 110
    assert use(made, "knowledge_search", input="capital") == "[capital] Jakarta"
    with pytest.raises(ToolError, match={"en": "Not in the knowledge base", "id": "Tidak ada di KB"}[lang]):
        use(made, "knowledge_search", input="zebra")
    assert [tool.contract.name for tool in basics.minimal_tools(lang=lang)] == ["calculator"]


def test_a_long_passage_is_cut_visibly(ws: Path) -> None:
    made = basics.tools(ws, knowledge={"long": "word " * 1_000})
    found = use(made, "knowledge_search", query="long")
    assert found.endswith("word … [cut, 5000 characters in all]")
    assert len(found) < 2_100


@pytest.mark.parametrize(("lang", "name"), [("en", "workspace"), ("id", "ruang-kerja")])
def test_default_workspace(tmp_path: Path, lang: str, name: str) -> None:
    made = basics.default_workspace(lang, tmp_path)
    assert made == tmp_path / name
    assert made.is_dir()
    (made / "a").write_text("kept")
    assert basics.default_workspace(lang, tmp_path) == made
    assert (made / "a").read_text() == "kept"


def test_what_cannot_be_set_up(tmp_path: Path, ws: Path) -> None:
    with pytest.raises(ConfigError, match="There is no workspace folder"):
        basics.tools(tmp_path / "none")
    with pytest.raises(ConfigError, match="There is no workspace folder"):
        basics.tools(ws / "notes.txt")
    with pytest.raises(ConfigError, match=r"no texts in the language 'fr'\. Use one of: en, id"):
        basics.tools(ws, lang="fr")
    with pytest.raises(ConfigError, match="There is no knowledge base"):
        basics.tools(ws, knowledge=tmp_path / "none")
    (tmp_path / "workspace").write_text("a file")
    with pytest.raises(ConfigError, match="is not a folder"):
        basics.default_workspace("en", tmp_path)
    with pytest.raises(ConfigError, match="cannot be made"):
        basics.default_workspace("en", tmp_path / "no" / "such")


def test_workspace_that_goes_away(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    made = basics.tools(tmp_path / "ws")
    (tmp_path / "ws").rmdir()
    with pytest.raises(ToolError, match="The workspace folder is gone") as caught:
        use(made, "list_files")
    assert caught.value.code == "NO_WORKSPACE"


@pytest.mark.parametrize(("lang", "notes"), [("en", "notes.txt"), ("id", "catatan.txt")])
def test_sample(tmp_path: Path, lang: str, notes: str) -> None:
    ws = copy_sample(tmp_path / "new" / "ws", lang)
    assert (ws / notes).read_text() == (FOLDERS[lang] / notes).read_text()
    (ws / notes).write_text("mine")
    assert (copy_sample(ws, lang) / notes).read_text() == "mine"
    made = basics.tools(ws, lang=lang, knowledge=ws / KNOWLEDGE[lang])
    assert use(made, "knowledge_search", query={"en": "late cancellation", "id": "lapak"}[lang])
    assert (make(tmp_path, lang) / notes).is_file()
    assert make(tmp_path, lang) == basics.default_workspace(lang, tmp_path)
    with pytest.raises(ConfigError, match="no sample in the language"):
        copy_sample(ws, "fr")
    with pytest.raises(ConfigError, match="cannot be copied"):
        copy_sample(ws / notes, lang)
