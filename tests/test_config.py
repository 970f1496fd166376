"""Settings: which source wins, and what a wrong one is told."""

import os
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import fields

from gerbang.config import KEYS, OTHER_NAMES, Origin, Settings, load, load_with_origins
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
    samples: dict[str, tuple[str, Any]] = {
        "lang": ("id", "id"),
        "deadline_s": ("2.5", 2.5),
        "secret_bindings": ('{"KEY": {"tools": ["a.b.v1"]}}', {"KEY": {"tools": ("a.b.v1",)}}),
        "tool_timeout_secs": ("2.5", 2.5),
        "egress": (" a.example , 10.0.0.0/8,", ("a.example", "10.0.0.0/8")),
    }
    samples |= {field.name: ("true", True) for field in fields(Settings) if field.type in (bool, bool | None)}
    for key in KEYS:
        text, value = samples.get(key, ("3", None))
        found = getattr(load({}, {f"GERBANG_{key.upper()}": text}), key)
        assert found == value if value is not None else str(found) == text


def test_home_is_expanded_in_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "lang = 'id'\n")
    monkeypatch.setitem(os.environ, "HOME", str(tmp_path))
    assert load({}, {}, "~/gerbang.toml").lang == "id"


# -- HTTP tools: names of another system ---------------------------------------------------------------------

SECOND: list[tuple[str, str, str, Any]] = [
    ("LLM_TOOLS_ENABLED", "false", "tools_enabled", False),
    ("LLM_TOOLS_ENABLED", "1", "tools_enabled", True),
    ("LLM_TOOLS_ENABLED", "0", "tools_enabled", False),
    ("LLM_TOOLS_ENABLED", "TRUE", "tools_enabled", True),
    ("LLM_TOOLS_ENABLED", "yes", "tools_enabled", True),
    ("LLM_TOOLS_ENABLED", "On", "tools_enabled", True),
    ("LLM_TOOLS_ENABLED", "no", "tools_enabled", False),
    ("LLM_TOOLS_ENABLED", "OFF", "tools_enabled", False),
    ("LLM_TOOLS_FILE", "tools.json", "tools_file", "tools.json"),
    ("LLM_TOOL_MAX_ITERATIONS", "7", "tool_max_iterations", 7),
    ("LLM_TOOL_TIMEOUT_SECS", "2.5", "tool_timeout_secs", 2.5),
    ("LLM_TOOL_RESULT_MAX_CHARS", "100", "tool_result_max_chars", 100),
]


@pytest.mark.parametrize(("variable", "text", "name", "value"), SECOND)
def test_second_names(tmp_path: Path, variable: str, text: str, name: str, value: Any) -> None:
    loaded = load_with_origins({}, {variable: text})
    assert getattr(loaded.settings, name) == value
    assert loaded.origins[name] == Origin("environment", variable)
    toml = f"'{value}'" if isinstance(value, str) else str(value).lower()
    file = write(tmp_path, f"{variable} = {toml}\n")
    assert getattr(load({}, {}, file), name) == value
    assert OTHER_NAMES[variable] == name


def test_defaults_of_the_second_names() -> None:
    settings = load({}, {})
    assert (settings.tool_max_iterations, settings.tool_timeout_secs) == (4, 15)
    assert settings.tool_result_max_chars == 2000
    assert (settings.tools_enabled, settings.tools_file, settings.active_tools_file()) == (None, None, None)


@pytest.mark.parametrize(
    ("enabled", "file", "active"),
    [
        (None, None, False),
        (None, "", False),
        (None, "t.json", True),
        ("true", "t.json", True),
        ("false", "t.json", False),
        ("true", None, False),
    ],
)
def test_when_the_file_of_tools_is_used(enabled: str | None, file: str | None, active: bool) -> None:
    environ = {"LLM_TOOLS_ENABLED": enabled or "", "LLM_TOOLS_FILE": file or ""}
    assert (load({}, environ).active_tools_file() is not None) == active


def test_limits_of_the_voice_profile() -> None:
    environ = {"LLM_TOOL_MAX_ITERATIONS": "2", "LLM_TOOL_RESULT_MAX_CHARS": "99"}
    assert load({}, environ).limits() == {}
    assert load({"profile": "voice"}, environ).limits() == {"max_steps": 2, "result_max_chars": 99}
    assert load({"profile": "voice"}, {}).limits() == {"max_steps": 4, "result_max_chars": 2000}
    both = load({"profile": "voice"}, {**environ, "GERBANG_MAX_STEPS": "3"})
    assert both.limits() == {"max_steps": 3, "result_max_chars": 99}


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"LLM_TOOL_FILE": "x"}, ["LLM_TOOL_FILE", "LLM_TOOLS_FILE"]),
        ({"LLM_TOOLS_FIEL": "x"}, ["LLM_TOOLS_FIEL", "LLM_TOOLS_FILE"]),
        ({"LLM_TOOL_TIMEOUT": "5"}, ["LLM_TOOL_TIMEOUT", "LLM_TOOL_TIMEOUT_SECS"]),
        ({"LLM_TOOL_MAX_ITERATIONS": "0"}, ["tool_max_iterations", "LLM_TOOL_MAX_ITERATIONS", ">= 1"]),
        ({"LLM_TOOL_TIMEOUT_SECS": "soon"}, ["tool_timeout_secs", "LLM_TOOL_TIMEOUT_SECS"]),
        ({"LLM_TOOLS_ENABLED": "perhaps"}, ["tools_enabled", "LLM_TOOLS_ENABLED"]),
        ({"LLM_TOOLS_FILE": "a", "GERBANG_TOOLS_FILE": "b"}, ["one setting", "Unset one"]),
    ],
)
def test_wrong_second_names(environ: dict[str, str], words: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        load({}, environ)
    for word in words:
        assert word in str(caught.value)


def test_one_value_by_both_names_is_no_contradiction(tmp_path: Path) -> None:
    assert load({}, {"LLM_TOOLS_FILE": "a", "GERBANG_TOOLS_FILE": "a"}).tools_file == "a"
    file = write(tmp_path, "tools_file = 'a'\nLLM_TOOLS_FILE = 'b'\n")
    with pytest.raises(ConfigError, match="are one setting"):
        load({}, {}, file)
    file = write(tmp_path, "LLM_TOOLS_FIEL = 'b'\n")
    with pytest.raises(ConfigError, match="Did you mean 'LLM_TOOLS_FILE'"):
        load({}, {}, file)


@pytest.mark.parametrize("name", ["LLM_MODEL", "LLM_API_KEY", "LLM", "MY_LLM_TOOLS_FILE", "LLM_TOOLKIT_HOME"])
def test_other_variables_of_that_system_are_left_alone(name: str) -> None:
    assert load({}, {name: "x"}) == Settings()


def test_origins(tmp_path: Path) -> None:
    file = write(tmp_path, "lang = 'id'\nmodel = 'a:'\nstore = 'memory:'\negress = ['a.example']\n")
    loaded = load_with_origins(
        {"model": "c:", "api_key_secret": "K", "lang": None},
        {"GERBANG_STORE": "sqlite:x", "GERBANG_MODEL": "b:", "LLM_TOOLS_FILE": "t"},
        file,
    )
    told = {name: (origin.source, origin.detail) for name, origin in loaded.origins.items()}
    assert list(told) == list(KEYS)
    assert told.pop("model") == ("flag", "--model")
    assert told.pop("api_key_secret") == ("flag", "--api-key-secret")
    assert told.pop("store") == ("environment", "GERBANG_STORE")
    assert told.pop("tools_file") == ("environment", "LLM_TOOLS_FILE")
    assert told.pop("lang") == ("file", str(file))
    assert told.pop("egress") == ("file", str(file))
    assert set(told.values()) == {("default", "")}
    assert loaded.settings.egress == ("a.example",)
