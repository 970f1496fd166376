"""`gerbang demo`, what `make run` calls: three requests, each call with its decision and its result."""

from pathlib import Path

import pytest

from tests.cli.terminal import gerbang

SHOWN = {
    "en": [
        "You: What is 25 * 4 + 10?",
        '1. the model proposes   calculate {"expression": "25 * 4 + 10"}',
        "1. the gate decides     allow  CLASS_COMPUTE: no rule matched",
        "1. what came back       110",
        "You: Read notes.txt",
        '1. the model proposes   read_file {"path": "notes.txt"}',
        "1. the gate decides     allow  CLASS_READ_INTERNAL",
        "1. what came back       Notes of the Tuesday meeting",
        "You: Read notes.txt and then work out 12% of 340",
        "1. the model proposes   read_file",
        "2. the model proposes   calculate",
        "40.8",
        "gerbang chat",
        "ollama:",
        "openai:",
    ],
    "id": [
        "Anda: Hitung 25 * 4 + 10",
        '1. model mengusulkan    hitung {"ekspresi": "25 * 4 + 10"}',
        "1. yang kembali         110",
        "Anda: Baca berkas catatan.txt",
        "1. model mengusulkan    baca_berkas",
        "Anda: Baca catatan.txt dan baca tugas.md",
        "2. model mengusulkan    baca_berkas",
        "gerbang chat --lang id",
        "ruang-kerja",
    ],
}

STARTED = {
    "en": ["Starting", "Request", "Request", "Request"],
    "id": ["Memulai", "Permintaan", "Permintaan", "Permintaan"],
}
"""What standard error says while nothing moves on the screen."""


@pytest.mark.parametrize("lang", ["en", "id"])
def test_demo(tmp_path: Path, lang: str) -> None:
    ran = gerbang("demo", "--lang", lang, cwd=tmp_path)
    assert ran.code == 0
    assert [line.split()[0] for line in ran.err.splitlines()] == STARTED[lang]
    rest = ran.out
    for part in SHOWN[lang]:
        before, found, rest = rest.partition(part)
        assert found, f"{part!r} does not follow:\n{before}"
    runs = gerbang("runs", "list", "--json", cwd=tmp_path).json
    assert [run["state"] for run in runs] == ["completed"] * 3


def test_somebodys_own_workspace_is_left_alone(tmp_path: Path) -> None:
    own = tmp_path / "workspace"
    own.mkdir()
    (own / "mine.txt").write_text("mine")
    ran = gerbang("demo", "Read notes.txt", cwd=tmp_path)
    assert ran.code == 0
    assert "Notes of the Tuesday meeting" in ran.out
    assert [path.name for path in own.iterdir()] == ["mine.txt"]


def test_the_second_time(tmp_path: Path) -> None:
    assert gerbang("demo", "Read notes.txt", cwd=tmp_path).code == 0
    (tmp_path / "workspace" / "notes.txt").write_text("Changed by hand.")
    assert "Changed by hand." in gerbang("demo", "Read notes.txt", cwd=tmp_path).out
