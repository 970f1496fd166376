"""Digests of files: of what they hold, inside the folder, and never waiting for anybody."""

import asyncio
import os
from pathlib import Path

import pytest

from gerbang.adapters.approvals import folder_files
from gerbang.adapters.approvals.folder_files import ABSENT, FolderFiles
from gerbang.ports import UnreadableFile


def digest(root: Path, name: str, path: str | None = None) -> str:
    return asyncio.run(FolderFiles(root).digests({name: path or name}))[name]


def test_content_counts_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one")
    (tmp_path / "b").write_text("one")
    (tmp_path / "c").write_text("two")
    os.utime(tmp_path / "b", (0, 0))
    assert digest(tmp_path, "a") == digest(tmp_path, "b") == digest(tmp_path, "./a")
    assert digest(tmp_path, "a") != digest(tmp_path, "c")
    assert digest(tmp_path, "gone") == ABSENT
    assert digest(tmp_path / "no-folder", "a") == ABSENT


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "link", "pipe", "large", "\0", "x" * 5_000, "loop"])
def test_what_cannot_be_read(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_files, "MAX_FILE_BYTES", 100)
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "x").write_text("outside")
    (root / "link").symlink_to(tmp_path / "x")
    (root / "loop").symlink_to(root / "loop")
    (root / "large").write_bytes(b"x" * 101)
    os.mkfifo(root / "pipe")
    with pytest.raises(UnreadableFile) as caught:
        digest(root, name)
    assert caught.value.args[0] == name[:200]


def test_a_tools_own_path_may_be_anywhere(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("outside")
    root = tmp_path / "root"
    root.mkdir()
    assert digest(root, "tool.v1: x", str(tmp_path / "x")).startswith("sha256:")


def test_a_folder_is_its_names(tmp_path: Path) -> None:
    before = digest(tmp_path, ".")
    (tmp_path / "a").write_text("one")
    assert digest(tmp_path, ".") != before


def test_where_a_link_leads_counts_even_when_both_files_hold_the_same(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("one")
    link, folder, gone = tmp_path / "link", tmp_path / "folder", tmp_path / "gone"
    link.symlink_to("a/file")
    folder.symlink_to("a")
    before = [digest(tmp_path, name) for name in ("link", "folder/file", "gone")]
    assert len({*before, digest(tmp_path, "a/file")}) == 3  # both links lead to the same file
    for path in (link, folder):
        path.unlink()
    link.symlink_to("b/file")
    folder.symlink_to("b")
    gone.symlink_to("nowhere")
    after = [digest(tmp_path, name) for name in ("link", "folder/file", "gone")]
    assert set(before).isdisjoint(after)
    assert after[2].startswith(ABSENT)


def test_a_workspace_that_is_moved_keeps_its_digests(tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.mkdir()
    (old / "a").write_text("one")
    (old / "link").symlink_to("a")
    before = digest(old, "link")
    new = old.rename(tmp_path / "new")
    assert digest(new, "link") == before
