"""`gerbang secrets bind`, `unbind`, `bindings`: the file says what was meant, all else in it as it was."""

import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest

from gerbang.cli.bindings_file import change
from gerbang.errors import ConfigError, UsageError
from gerbang.values.binding import Binding, read_bindings
from tests.cli.terminal import gerbang

MAIL = Binding(tenants=("acme",), tools=("mail.*",))
WRITTEN = '[secret_bindings.MAIL_KEY]\ntenants = ["acme"]\ntools = ["mail.*"]\n'
OTHER = '[secret_bindings.OTHER]  # theirs\nusers = [\n    "ana",  # she\n]\n'

FILES: list[tuple[str, str, Binding | None, str]] = [
    ("no file", "", MAIL, WRITTEN),
    ("settings before", 'model = "x"\n', MAIL, f'model = "x"\n\n{WRITTEN}'),
    ("no line end", 'model = "x"', MAIL, f'model = "x"\n\n{WRITTEN}'),
    ("carriage returns", 'model = "x"\r\n', MAIL, f'model = "x"\n\n{WRITTEN}'.replace("\n", "\r\n")),
    ("another secret", OTHER, MAIL, f"{OTHER}\n{WRITTEN}"),
    (
        "a table behind, with a comment of its own",
        f"{OTHER}\n# of mail\n[other]\nx = 1\n",
        MAIL,
        f"{OTHER}\n{WRITTEN}\n# of mail\n[other]\nx = 1\n",
    ),
    (
        "changed in its place",
        f"# a\n{WRITTEN}\n# b\n{OTHER}",
        Binding(users=("bo",)),
        f'# a\n[secret_bindings.MAIL_KEY]\nusers = ["bo"]\n\n# b\n{OTHER}',
    ),
    ("quoted name", '["secret_bindings".MAIL_KEY]\n', None, "[secret_bindings]\n"),
    ("for anything", "", Binding(), "[secret_bindings.MAIL_KEY]\n"),
    ("letters", "", Binding(tenants=('é"\\',)), '[secret_bindings.MAIL_KEY]\ntenants = ["é\\"\\\\"]\n'),
    ("taken away", f"{OTHER}\n{WRITTEN}", None, OTHER),
    ("taken away from between", f"# a\n{WRITTEN}# b\n{OTHER}", None, f"# a\n# b\n{OTHER}"),
    ("the last one", f"# a\n{WRITTEN}", None, "# a\n[secret_bindings]\n"),
    ("an empty table", "[secret_bindings]\n", MAIL, f"[secret_bindings]\n\n{WRITTEN}"),
    ("in one line", 'secret_bindings = {MAIL_KEY = {users = ["ana"]}}\n', MAIL, "refused"),
    ("in one line within the table", "[secret_bindings]\nMAIL_KEY = {}\n", MAIL, "refused"),
    ("as it looks in a text", f'model = """\n{WRITTEN}"""\n', MAIL, "refused"),
]


@pytest.mark.parametrize(
    ("before", "binding", "after"), [one[1:] for one in FILES], ids=[one[0] for one in FILES]
)
def test_what_the_file_says_then(tmp_path: Path, before: str, binding: Binding | None, after: str) -> None:
    path = tmp_path / "gerbang.toml"
    if before:
        path.write_bytes(before.encode())
        path.chmod(0o644)
    if after == "refused":
        with pytest.raises(ConfigError, match="Change it there"):
            change(path, "MAIL_KEY", binding)
        assert path.read_bytes() == before.encode()
        return
    change(path, "MAIL_KEY", binding)
    assert path.read_bytes().decode() == after
    said = read_bindings(tomllib.loads(after).get("secret_bindings"))
    assert said is not None
    assert said.get("MAIL_KEY") == binding
    assert stat.S_IMODE(path.stat().st_mode) == (0o644 if before else 0o600)


def test_what_is_not_there_is_not_taken_away(tmp_path: Path) -> None:
    path = tmp_path / "gerbang.toml"
    path.write_text(OTHER)
    with pytest.raises(UsageError, match="it binds: OTHER"):
        change(path, "MAIL_KEY", None)
    assert path.read_text() == OTHER


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "real.toml").write_text("")
    (tmp_path / "gerbang.toml").symlink_to(tmp_path / "real.toml")
    change(tmp_path / "gerbang.toml", "MAIL_KEY", MAIL)
    assert (tmp_path / "gerbang.toml").is_symlink()
    assert (tmp_path / "real.toml").read_text() == WRITTEN


def secrets(place: Path, *words: str, env: dict[str, str] | None = None) -> Any:
    return gerbang("secrets", *words, cwd=place, env=env)


def test_bound_listed_used_and_taken_away(place: Path) -> None:
    (place / "keyed.py").write_text(
        "import gerbang as g\n"
        "@g.tool(name='mail.count.v1', risk='compute', secrets=('MAIL_KEY',))\n"
        "async def count(context: g.CallContext) -> int:\n"
        '    """Count the letters of a key. Use for tests. Returns a number."""\n'
        "    return len(context.secret('MAIL_KEY'))\n"
    )
    file = ("--config", "gerbang.toml")
    env = {"MAIL_KEY": "not-a-real-key"}

    def call() -> Any:
        words = ("call", "mail.count.v1", "{}", "--python", "keyed:count", *file, "--json")
        return gerbang(*words, cwd=place, env=env).json

    bound = secrets(place, "bind", "MAIL_KEY", "--tenant", "local", "--tool", "mail.*", *file, "--json")
    assert (bound.code, bound.json["binding"]) == (0, {"tenants": ["local"], "tools": ["mail.*"]})
    assert call()["value"] == 14
    listed = secrets(place, "bindings", *file)
    assert "MAIL_KEY  local    any    mail.*  any" in listed.out
    assert secrets(place, "bind", "OTHER_KEY", "--any", *file).code == 0
    changed = secrets(place, "bind", "MAIL_KEY", "--tenant", "acme", *file)
    assert (changed.code, "Before: tenants local; tools mail.*" in changed.err) == (0, True)
    assert call()["error"]["error_code"] == "SECRET_NOT_BOUND"
    for name in ("MAIL_KEY", "OTHER_KEY"):
        assert secrets(place, "unbind", name, *file).code == 0
    empty = secrets(place, "bindings", *file, "--json")
    assert empty.json == {"bindings": {}, "source": "file", "detail": "gerbang.toml"}
    assert "no secret is for any tool" in secrets(place, "bindings", *file).err
    assert call()["error"]["error_code"] == "SECRET_NOT_BOUND"  # the last one gone opens nothing
    assert secrets(place, "bindings").err.startswith("Nothing is bound")


WRONG: list[tuple[tuple[str, ...], str]] = [
    (("bind", "MAIL_KEY", "--tenant", "acme"), "--config FILE"),
    (("bind", "MAIL_KEY", "--config", "c.toml"), "--tenant"),
    (("bind", "MAIL_KEY", "--any", "--tool", "a.b.v1", "--config", "c.toml"), "--any, alone"),
    (("bind", "MAIL_KEY", "--tenant", "", "--config", "c.toml"), "--tenant takes"),
    (("bind", "MAIL_KEY", "--origin", "mail.example", "--config", "c.toml"), "https://HOST"),
    (("bind", "1", "--any", "--config", "c.toml"), "cannot name a secret"),
    (("bind", "MAIL_KEY", "--any", "--config", "bad.toml"), "not valid TOML"),
    (("bind", "MAIL_KEY", "--any", "--config", "list.toml"), "no table"),
    (("bind", "MAIL_KEY", "--any", "--config", "workspace"), "cannot be read"),
    (("unbind", "MAIL_KEY", "--config", "none.toml"), "it binds: none"),
    (("unbind", "MAIL_KEY"), "--config FILE"),
    (("bindings", "--config", "none.toml"), "no settings file"),
]


@pytest.mark.parametrize(("words", "said"), WRONG, ids=[" ".join(one[0]) for one in WRONG])
def test_what_is_wrong_is_said(place: Path, words: tuple[str, ...], said: str) -> None:
    (place / "bad.toml").write_text("a = [")
    (place / "list.toml").write_text("secret_bindings = 1\n")
    ran = secrets(place, *words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("Error: ")
    assert said in ran.err
    assert not (place / "c.toml").exists()


def test_an_environment_that_beats_the_file_is_told(place: Path) -> None:
    env = {"GERBANG_SECRET_BINDINGS": '{"X_KEY": {}}', "GERBANG_CONFIG": "gerbang.toml"}
    bound = secrets(place, "bind", "MAIL_KEY", "--any", env=env)
    assert (bound.code, "GERBANG_SECRET_BINDINGS is set" in bound.err) == (0, True)
    listed = secrets(place, "bindings", "--json", env=env)
    assert listed.json["source"] == "environment"
    assert list(listed.json["bindings"]) == ["X_KEY"]
