"""The workspace on a real file system: hostile paths, odd files, and names that are exchanged meanwhile."""

import os
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gerbang.packs.workspace import MAX_SCANNED, Workspace, WorkspaceFault

SECRET = "outside secret"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace `ws` beside a folder `out`, with links of every kind."""
    ws, out = tmp_path / "ws", tmp_path / "out"
    (ws / "sub" / "deep").mkdir(parents=True)
    out.mkdir()
    (tmp_path / "ws-evil").mkdir()
    (tmp_path / "ws-evil" / "a.txt").write_text(SECRET)
    (out / "secret.txt").write_text(SECRET)
    (ws / "notes.txt").write_text("hello\n")
    (ws / "sub" / "a.txt").write_text("in sub")
    (ws / "sub" / "deep" / "b.txt").write_text("deep")
    links = {
        "in": "notes.txt",
        "in_abs": str(ws / "sub" / "a.txt"),
        "in_folder": "sub",
        "sub/up": "../notes.txt",
        "sub/round": "../../ws/notes.txt",
        "out": "../out/secret.txt",
        "out_abs": str(out / "secret.txt"),
        "out_folder": str(out),
        "out_chain": "hop",
        "hop": "out_folder/secret.txt",
        "out_missing": "/nowhere/at/all",
        "gone": "not-there.txt",
        "loop": "loop",
        "loop_a": "loop_b",
        "loop_b": "loop_a",
        "proc_root": "/proc/self/root",
        "proc_cwd": "/proc/self/cwd",
    }
    for name, target in links.items():
        (ws / name).symlink_to(target)
    (ws / "way").symlink_to("sub/deep")
    os.mkfifo(ws / "pipe")
    (ws / "null").symlink_to("/dev/null")
    return ws


INSIDE = [
    ("notes.txt", "hello\n"),
    ("./notes.txt", "hello\n"),
    ("sub//a.txt", "in sub"),
    ("sub/../notes.txt", "hello\n"),
    ("sub/deep/../../notes.txt", "hello\n"),
    ("../ws/notes.txt", "hello\n"),
    ("sub/../../ws/sub/a.txt", "in sub"),
    ("in", "hello\n"),
    ("in_abs", "in sub"),
    ("in_folder/a.txt", "in sub"),
    ("sub/up", "hello\n"),
    ("sub/round", "hello\n"),
    ("way/b.txt", "deep"),
    ("way/../a.txt", "in sub"),  # the real parent of `sub/deep`, as the system sees it
]

REFUSED = [
    ("../out/secret.txt", "OUTSIDE"),
    ("sub/../../out/secret.txt", "OUTSIDE"),
    ("/etc/passwd", "OUTSIDE"),
    ("//etc/passwd", "OUTSIDE"),
    ("/", "OUTSIDE"),
    ("..", "OUTSIDE"),
    ("../" * 200 + "etc/passwd", "OUTSIDE"),
    ("../ws-evil/a.txt", "OUTSIDE"),
    ("../not-there", "OUTSIDE"),  # nothing outside is looked up: absent and present look alike
    ("out", "OUTSIDE"),
    ("out_abs", "OUTSIDE"),
    ("out_folder/secret.txt", "OUTSIDE"),
    ("out_folder/../ws/notes.txt", "OUTSIDE"),
    ("out_chain", "OUTSIDE"),
    ("out_missing", "OUTSIDE"),
    ("proc_root/etc/passwd", "OUTSIDE"),
    ("proc_cwd", "OUTSIDE"),
    ("null", "OUTSIDE"),
    ("/dev/zero", "OUTSIDE"),
    ("not-there.txt", "MISSING"),
    ("not/there.txt", "MISSING"),
    ("notes.txt/more", "MISSING"),
    ("notes.txt/..", "MISSING"),
    ("gone", "MISSING"),
    ("~/notes.txt", "MISSING"),
    ("C:\\notes.txt", "MISSING"),
    ("..\\out\\secret.txt", "MISSING"),
    ("%2e%2e/out/secret.txt", "MISSING"),
    ("file:///etc/passwd", "MISSING"),
    ("n" * 300, "MISSING"),
    ("loop", "TOO_MANY_LINKS"),
    ("loop_a", "TOO_MANY_LINKS"),
    ("sub", "IS_FOLDER"),
    (".", "IS_FOLDER"),
    ("", "IS_FOLDER"),
    ("in_folder", "IS_FOLDER"),
    ("pipe", "NOT_A_FILE"),
    ("notes.txt\0", "BAD_PATH"),
    ("\0", "BAD_PATH"),
    ("\ud800", "BAD_PATH"),
    ("a/" * 600, "BAD_PATH"),
]


@pytest.mark.parametrize(("path", "text"), INSIDE)
def test_inside(root: Path, path: str, text: str) -> None:
    assert Workspace(root).read_text(path, 100) == text


@pytest.mark.parametrize(("path", "kind"), REFUSED)
def test_refused(root: Path, path: str, kind: str) -> None:
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    with pytest.raises(WorkspaceFault) as caught:
        Workspace(root).read_text(path, 100)
    assert caught.value.kind == kind
    assert before in (0, len(os.listdir("/proc/self/fd")))


def test_absolute_paths_by_either_spelling_of_the_root(root: Path, tmp_path: Path) -> None:
    alias = tmp_path / "alias"
    alias.symlink_to(root)
    workspace = Workspace(alias)
    assert workspace.read_text(f"{root}/notes.txt", 100) == "hello\n"
    assert workspace.read_text(f"{alias}/sub/a.txt", 100) == "in sub"
    (root / "by_alias").symlink_to(alias / "notes.txt")
    assert workspace.read_text("by_alias", 100) == "hello\n"
    for outside in (f"{root}-evil/a.txt", f"{alias}-evil/a.txt", f"{root}/../out/secret.txt"):
        with pytest.raises(WorkspaceFault) as caught:
            workspace.read_text(outside, 100)
        assert caught.value.kind == "OUTSIDE"


def test_folders_deeper_than_the_bound(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d"] * 80)
    deep.mkdir(parents=True)
    (deep / "a.txt").write_text("x")
    with pytest.raises(WorkspaceFault) as caught:
        Workspace(tmp_path).read_text("d/" * 80 + "a.txt", 10)
    assert caught.value.kind == "BAD_PATH"


def test_socket_is_no_file(root: Path) -> None:
    here = os.getcwd()
    os.chdir(root)  # the address of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("sock")
            with pytest.raises(WorkspaceFault) as caught:
                Workspace(root).read_text("sock", 10)
    finally:
        os.chdir(here)
    assert caught.value.kind == "NOT_A_FILE"


@pytest.mark.parametrize(
    ("data", "limit", "text"),
    [
        (b"", 10, ""),
        (b"abc", 3, "abc"),
        (b"abcd", 3, "abc"),
        (b"a\r\nb\n", 10, "a\r\nb\n"),
        ("é" * 9000, 8000, "é" * 8000),
        ("😀" * 9000, 8000, "😀" * 8000),
        (b"\xef\xbb\xbfhello", 5, "hello"),
        (b"\xef\xbb\xbf" + b"\xf0\x9f\x98\x80" * 8000, 8000, "😀" * 8000),
        (b"caf\xe9 " + b"x" * 60, 100, "caf\ufffd " + "x" * 60),
        (b"x" * 60 + b"\xf0\x9f", 100, "x" * 60 + "\ufffd"),
        (b"tab\tend\f", 10, "tab\tend\f"),
    ],
)
def test_text(tmp_path: Path, data: bytes | str, limit: int, text: str) -> None:
    (tmp_path / "f").write_bytes(data.encode() if isinstance(data, str) else data)
    assert Workspace(tmp_path).read_text("f", limit) == text


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
        b"text then\x00",
        "utf-16".encode("utf-16"),
        bytes(range(128, 256)),
        b"\x1f\x8b\x08\x08\x11\x12\x13",
        b"\x7fELF\x02\x01\x01",
    ],
)
def test_binary_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "f").write_bytes(data)
    with pytest.raises(WorkspaceFault) as caught:
        Workspace(tmp_path).read_text("f", 8000)
    assert caught.value.kind == "NOT_TEXT"


def test_only_the_bytes_needed_are_read(tmp_path: Path) -> None:
    with open(tmp_path / "huge", "wb") as file:
        file.write(b"a" * 40_000)
        file.truncate(1 << 40)  # a sparse terabyte
    assert Workspace(tmp_path).read_text("huge", 8000) == "a" * 8000


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that every user may enter, so that a test can drop root's rights."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder).resolve()


def test_unreadable(public: Path) -> None:
    (public / "f").write_text("x")
    (public / "d").mkdir()
    os.chmod(public / "f", 0)
    os.chmod(public / "d", 0)
    root = os.geteuid() == 0
    faults = []
    if root:
        os.seteuid(65534)
    try:
        for call in (
            lambda: Workspace(public).read_text("f", 10),
            lambda: Workspace(public).read_text("d/f", 10),
            lambda: Workspace(public).list_folder("d", 10),
        ):
            with pytest.raises(WorkspaceFault) as caught:
                call()
            faults.append(caught.value.kind)
    finally:
        if root:
            os.seteuid(0)
        os.chmod(public / "d", 0o700)
    assert faults == ["UNREADABLE", "UNREADABLE", "UNREADABLE"]


def test_workspace_that_is_gone(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "ws")
    for call in (lambda: workspace.read_text("a", 1), lambda: workspace.list_folder("", 1)):
        with pytest.raises(WorkspaceFault) as caught:
            call()
        assert caught.value.kind == "NO_WORKSPACE"


def test_listing_is_sorted_bounded_and_marked(root: Path) -> None:
    (root / "two\nlines").write_text("x")
    with open(os.fsencode(root) + b"/bad\xff", "w"):
        pass
    entries, total = Workspace(root).list_folder("", 100)
    kinds = dict(entries)
    assert [name for name, _ in entries] == sorted(os.listdir(root))
    assert total == len(entries)
    assert {name for name in kinds if kinds[name] == "folder"} == {"sub", "in_folder", "way"}
    assert {name for name in kinds if kinds[name] == "outside"} == {
        "out", "out_abs", "out_folder", "out_chain", "hop", "out_missing", "proc_root", "proc_cwd", "null",
    }  # fmt: skip
    assert {name for name in kinds if kinds[name] == "other"} == {"gone", "loop", "loop_a", "loop_b", "pipe"}
    assert {name for name in kinds if kinds[name] == "file"} == {
        "notes.txt", "in", "in_abs", "two\nlines", "bad\udcff",
    }  # fmt: skip
    first, again = Workspace(root).list_folder("", 2)
    assert (first, again) == (entries[:2], total)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("..", "OUTSIDE"),
        ("/", "OUTSIDE"),
        ("out_folder", "OUTSIDE"),
        ("notes.txt", "NOT_A_FOLDER"),
        ("not-there", "MISSING"),
        ("pipe", "NOT_A_FILE"),
        ("a\0", "BAD_PATH"),
    ],
)
def test_listing_refused(root: Path, path: str, kind: str) -> None:
    with pytest.raises(WorkspaceFault) as caught:
        Workspace(root).list_folder(path, 10)
    assert caught.value.kind == kind


def test_listing_of_too_many_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_SCANNED == 100_000
    monkeypatch.setattr("gerbang.packs.workspace.MAX_SCANNED", 50)  # the bound, not our part, is replaced
    for number in range(50):
        (tmp_path / str(number)).touch()
    assert Workspace(tmp_path).list_folder("", 3)[1] == 50
    (tmp_path / "one more").touch()
    with pytest.raises(WorkspaceFault) as caught:
        Workspace(tmp_path).list_folder("", 3)
    assert caught.value.kind == "TOO_MANY_ENTRIES"


@pytest.mark.parametrize("path", ["swap/secret.txt", "leaf.txt"])
def test_exchanging_a_name_while_it_is_read(tmp_path: Path, path: str) -> None:
    """A name that turns from a file or folder inside to a link outside, and back, never gives the outside."""
    ws, out = tmp_path / "ws", tmp_path / "out"
    for folder in (ws, out):
        folder.mkdir()
        (folder / "secret.txt").write_text(SECRET if folder == out else "inside")
    name = path.partition("/")[0]
    if name == "swap":
        (ws / "good").mkdir()
        (ws / "good" / "secret.txt").write_text("inside")
        (ws / "evil").symlink_to(out)
    else:
        (ws / "good").write_text("inside")
        (ws / "evil").symlink_to(out / "secret.txt")
    stop = threading.Event()

    def exchange() -> None:
        while not stop.is_set():
            for which in ("good", "evil"):
                os.rename(ws / which, ws / name)
                os.rename(ws / name, ws / which)

    thread = threading.Thread(target=exchange)
    thread.start()
    seen: set[str] = set()
    try:
        workspace = Workspace(ws)
        for _ in range(200_000):
            try:
                seen.add(workspace.read_text(path, 100))
            except WorkspaceFault as fault:
                seen.add(fault.kind)
            if {"inside", "OUTSIDE", "MISSING"} <= seen:
                break
        for _ in range(3_000):
            try:
                seen.add(workspace.read_text(path, 100))
            except WorkspaceFault as fault:
                seen.add(fault.kind)
    finally:
        stop.set()
        thread.join()
    assert {"inside", "OUTSIDE"} <= seen
    assert SECRET not in seen
    assert seen <= {"inside", "OUTSIDE", "MISSING", "CHANGED", "TOO_MANY_LINKS"}
