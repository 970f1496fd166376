"""Places of secrets: what they give, what they refuse, and what is in the way of a wrong or changed file."""

import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from gerbang.adapters.secrets import open_secrets
from gerbang.adapters.secrets.encrypted_file import EncryptedFileSecrets
from gerbang.adapters.secrets.env_file import EnvFileSecrets
from gerbang.errors import ConfigError, UsageError

PHRASE = "four words of mine"
VALUE = "kanarie ä/1+2=3"
CHEAP = 14


def encrypted(path: Path, phrase: str | None = PHRASE, key_file: Path | None = None) -> EncryptedFileSecrets:
    return EncryptedFileSecrets(path, passphrase=phrase, key_file=key_file, cost=CHEAP)


def private(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    path.chmod(0o600)
    return path


def test_an_encrypted_file_keeps_values(tmp_path: Path) -> None:
    path = tmp_path / "new" / "secrets"
    first = encrypted(path)
    first.set("A", VALUE)
    first.set("B", "other value")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert VALUE.encode() not in path.read_bytes()
    second = encrypted(path)
    assert (second.get("A"), second.get("B"), second.get("C")) == (VALUE, "other value", None)
    first.set("A", "changed value")
    assert second.get("A") == "changed value"
    assert second.remove("B") is True
    assert second.remove("B") is False
    assert first.names() == ["A"]
    assert sorted(item.name for item in path.parent.iterdir()) == ["secrets", "secrets.lock"]


def test_a_key_file_opens_a_file(tmp_path: Path) -> None:
    key = private(tmp_path / "key", os.urandom(32))
    encrypted(tmp_path / "s", None, key).set("A", VALUE)
    assert encrypted(tmp_path / "s", None, key).get("A") == VALUE
    other = private(tmp_path / "other", os.urandom(32))
    for store in (encrypted(tmp_path / "s", None, other), encrypted(tmp_path / "s")):
        with pytest.raises(ConfigError, match="does not open"):
            store.get("A")


@pytest.mark.parametrize(
    ("phrase", "words"), [("another phrase", "does not open"), ("", "needs its passphrase")]
)
def test_a_wrong_passphrase_neither_reads_nor_writes(tmp_path: Path, phrase: str, words: str) -> None:
    path = tmp_path / "s"
    encrypted(path).set("A", VALUE)
    before = path.read_bytes()
    acts: list[Callable[[EncryptedFileSecrets], object]] = [
        lambda store: store.get("A"),
        lambda store: store.set("A", "new value"),
        lambda store: store.remove("A"),
    ]
    for act in acts:
        with pytest.raises(ConfigError, match=words):
            act(encrypted(path, phrase))
    assert path.read_bytes() == before


def test_every_change_of_the_file_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "s"
    encrypted(path).set("A", VALUE)
    good = path.read_bytes()
    opened = encrypted(path)
    opened.get("A")
    for at in range(0, len(good), 5):
        private(path, good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
        with pytest.raises(ConfigError, match=r"damaged|does not open"):
            opened.get("A")
    for bad in (b"", b"[]", good[:-9], good + b" ", good.replace(b"scrypt", b"bcrypt")):
        private(path, bad)
        with pytest.raises(ConfigError, match="damaged"):
            opened.get("A")
    private(path, good)
    assert opened.get("A") == VALUE


def test_a_file_cannot_ask_for_endless_work(tmp_path: Path) -> None:
    path = tmp_path / "s"
    encrypted(path).set("A", VALUE)
    private(path, path.read_bytes().replace(b'"cost": 14', b'"cost": 40'))
    with pytest.raises(ConfigError, match="damaged"):
        encrypted(path).get("A")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o622])
@pytest.mark.parametrize("kind", ["encrypted", "key", "env"])
def test_files_of_others_are_refused(tmp_path: Path, mode: int, kind: str) -> None:
    key = private(tmp_path / "key", os.urandom(32))
    encrypted(tmp_path / "s", None, key).set("A", VALUE)
    private(tmp_path / "w.env", b"A=value of a\n")
    wrong = {"encrypted": tmp_path / "s", "key": key, "env": tmp_path / "w.env"}[kind]
    wrong.chmod(mode)
    store = EnvFileSecrets(wrong) if kind == "env" else encrypted(tmp_path / "s", None, key)
    with pytest.raises(ConfigError, match="chmod 600"):
        store.get("A")


def test_two_writers_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s"
    encrypted(path).set("START", VALUE)

    def write(who: str) -> None:
        store = encrypted(path)
        for number in range(8):
            store.set(f"{who}{number}", f"value of {who}{number}")

    threads = [threading.Thread(target=write, args=(who,)) for who in "AB"]
    code = (
        "import sys; from pathlib import Path\n"
        "from gerbang.adapters.secrets.encrypted_file import EncryptedFileSecrets as E\n"
        "s = E(Path(sys.argv[1]), passphrase=sys.argv[2], cost=14)\n"
        "for n in range(8): s.set(f'C{n}', f'value of C{n}')\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(path), PHRASE])
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert child.wait(60) == 0
    assert encrypted(path).names() == sorted(["START", *(f"{w}{n}" for w in "ABC" for n in range(8))])


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=plain", "plain"),
        ("export A = spaced  # note", "spaced"),
        ("A=has#hash", "has#hash"),
        ("A='single $x \\n #'", "single $x \\n #"),
        ('A="two\\nlines \\"q\\"" # note', 'two\nlines "q"'),
        ("A=with=equals", "with=equals"),
        ("\ufeffA=marked", "marked"),
        ("A=windows\r", "windows"),
        ("A=", None),
        ("# A=comment", None),
        ("A=#note", None),
    ],
)
def test_lines_of_env_files(tmp_path: Path, line: str, value: str | None) -> None:
    store = EnvFileSecrets(private(tmp_path / "w.env", f"{line}\n".encode()))
    assert store.get("A") == value
    assert store.names() == (["A"] if value else [])


@pytest.mark.parametrize(
    "line", ["kanarie", "1A=kanarie", "A='kanarie", 'A="kanarie" x', "A=b c\nA=kanarie", "A=\xff", "A=abc"]
)
def test_bad_env_files_name_the_line_not_the_value(tmp_path: Path, line: str) -> None:
    path = private(tmp_path / "w.env", f"# first\n{line}".encode("latin-1"))
    with pytest.raises(ConfigError, match=r"Line [23]|not UTF-8") as caught:
        EnvFileSecrets(path).get("A")
    assert "kanarie" not in str(caught.value)


def test_a_chain_asks_in_order(tmp_path: Path) -> None:
    path = private(tmp_path / "w.env", b"A=from the file\nB=only in the file\n")
    store = open_secrets(f"env:, envfile:{path}", environ={"A": "from outside"})
    assert (store.get("A"), store.get("B"), store.get("C")) == ("from outside", "only in the file", None)
    assert store.names() == ["A", "B"]
    with pytest.raises(UsageError, match="can be written"):
        store.set("A", "value")
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        store.get("C")


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("", "no address"),
        ("vault:x", "no address"),
        ("file:", "needs a path"),
        ("env:x", "takes nothing"),
        ("env:,", "no address"),
        ("keyring:x", "takes nothing"),
    ],
)
def test_bad_addresses(address: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        open_secrets(address)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("", VALUE),
        ("1A", VALUE),
        ("A B", VALUE),
        ("A-B", VALUE),
        ("A", "abc"),
        ("A", "a\0bcd"),
        ("A", "x" * 16_385),
    ],
)
def test_what_cannot_be_a_secret(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(UsageError) as caught:
        encrypted(tmp_path / "s").set(name, value)
    assert value not in str(caught.value)
    assert not (tmp_path / "s").exists()


def test_a_missing_library_is_named() -> None:
    code = (
        "import sys\n"
        "sys.modules.update(cryptography=None, keyring=None)  # as if they were not installed\n"
        "from gerbang.adapters.secrets import open_secrets\n"
        "for address in ('file:x', 'keyring:'):\n"
        "    try: open_secrets(address)\n"
        "    except Exception as error: print(type(error).__name__, error)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.count("ConfigError") == 2
    assert out.count(f"{sys.executable} -m pip install 'gerbang[secrets]'") == 2


RING = """
import json, os
from pathlib import Path
from keyring.backend import KeyringBackend

class Ring(KeyringBackend):
    priority = 1
    _file = Path(os.environ["RING"])
    def _all(self): return json.loads(self._file.read_text()) if self._file.exists() else {}
    def get_password(self, service, username): return self._all().get(f"{service}/{username}")
    def set_password(self, service, username, password):
        self._file.write_text(json.dumps({**self._all(), f"{service}/{username}": password}))
    def delete_password(self, service, username):
        left = self._all(); del left[f"{service}/{username}"]; self._file.write_text(json.dumps(left))
"""


def test_the_keyring_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "ring.py").write_text(RING)
    code = (
        "import json; from gerbang.adapters.secrets import open_secrets\n"
        "s = open_secrets('keyring:'); s.set('B', 'value b'); s.set('A', 'value a'); n = s.names()\n"
        "print(json.dumps([n, s.get('A'), s.get('C'), s.remove('A'), s.remove('A'), s.names()]))\n"
    )
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PYTHONPATH": str(tmp_path),
        "PYTHON_KEYRING_BACKEND": "ring.Ring",
        "RING": str(tmp_path / "ring.json"),
    }
    out = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert json.loads(out.stdout) == [["A", "B"], "value a", None, True, False, ["B"]]
    env["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"
    out = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert "no keyring that can be used" in out.stderr


def test_stores_show_no_value(tmp_path: Path) -> None:
    store = encrypted(tmp_path / "s")
    store.set("A", VALUE)
    for shown in (repr(store), repr(open_secrets("env:")), repr(store._keys)):
        assert VALUE not in shown
        assert PHRASE not in shown
