"""Settings: which source wins, and what a wrong one is told."""

import os
from pathlib import Path
from typing import Any

import pytest

from gerbang.config import KEYS, Settings, load
from gerbang.errors import ConfigError


def write(folder: Path, text: str) -> Path:
    path = folder / "gerbang.toml"
    path.write_text(text)
    return path


def test_defaults() -> None:
    assert load({}, {}) == Settings()
    assert load({}, {}).model == "embedded:"
    assert load({}, {}).limits() == {}


def test_option_beats_environment_beats_file(tmp_path: Path) -> None:
    file = write(tmp_path, 'model = "a:"\nlang = "id"\nstore = "memory:"\n')
    settings = load({"model": "c:", "lang": None}, {"GERBANG_MODEL": "b:", "GERBANG_STORE": "sqlite:x"}, file)
    assert (settings.model, settings.store, settings.lang) == ("c:", "sqlite:x", "id")


def test_file_named_by_the_environment(tmp_path: Path) -> None:
    file = write(tmp_path, "max_steps = 7\n")
    assert load({}, {"GERBANG_CONFIG": str(file)}).limits() == {"max_steps": 7}


def test_a_file_that_nobody_named_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, 'model = "openai:evil@http://example.org"\n')
    monkeypatch.chdir(tmp_path)
    assert load({}, {}).model == "embedded:"


def test_text_becomes_a_number() -> None:
    settings = load({"max_calls": 3}, {"GERBANG_MAX_STEPS": "12", "GERBANG_DEADLINE_S": "1.5"})
    assert settings.limits() == {"max_calls": 3, "max_steps": 12, "deadline_s": 1.5}


def test_an_empty_variable_counts_as_unset() -> None:
    assert load({}, {"GERBANG_MODEL": ""}).model == "embedded:"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("modle = 'x'\n", ["modle", "'model'"]),
        ("zzzzzz = 1\n", ["zzzzzz", "Known settings", *KEYS]),
        ("model = \n", ["not valid TOML", "line 1"]),
        ("lang = 'fr'\n", ["lang", "'fr'"]),
        ("max_steps = 0\n", ["max_steps", ">= 1"]),
        ("max_steps = '7'\nmodel = 3\n", ["model", "str"]),
        ("deadline_s = 0\n", ["deadline_s", "> 0"]),
        ("[model]\nname = 'x'\n", ["model", "str"]),
    ],
)
def test_wrong_file(tmp_path: Path, text: str, words: list[str]) -> None:
    file = write(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load({}, {}, file)
    for word in words:
        assert word in str(caught.value)


def test_unreadable_files(tmp_path: Path) -> None:
    binary = tmp_path / "b.toml"
    binary.write_bytes(b"\xff\xfe")
    large = tmp_path / "l.toml"
    large.write_bytes(b"#" * 1_048_577)
    for path, word in [
        (tmp_path / "none.toml", "There is no settings file"),
        (tmp_path, "cannot be read"),
        (binary, "not UTF-8"),
        (large, "larger than"),
    ]:
        with pytest.raises(ConfigError, match=word):
            load({}, {}, path)


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"GERBANG_MODLE": "x"}, ["GERBANG_MODLE", "GERBANG_MODEL"]),
        ({"GERBANG_MAX_STEPS": "many"}, ["max_steps", "environment"]),
        ({"GERBANG_MAX_STEPS": "-1"}, ["max_steps", ">= 1"]),
    ],
)
def test_wrong_environment(environ: dict[str, str], words: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        load({}, environ)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    "name", ["GERBANG_DEBUG", "GERBANG_SOMETHING_ELSE_ALTOGETHER", "MODEL", "gerbang_model"]
)
def test_foreign_variables_are_left_alone(name: str) -> None:
    assert load({}, {name: "x"}) == Settings()


def test_every_setting_can_come_from_the_environment() -> None:
    samples: dict[str, Any] = {"lang": "id", "deadline_s": "2.5"}
    for key in KEYS:
        text = samples.get(key, "3")
        assert str(getattr(load({}, {f"GERBANG_{key.upper()}": text}), key)) == text


def test_home_is_expanded_in_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "lang = 'id'\n")
    monkeypatch.setitem(os.environ, "HOME", str(tmp_path))
    assert load({}, {}, "~/gerbang.toml").lang == "id"
