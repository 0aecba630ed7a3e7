"""Where compiled kernels are kept when the usual places cannot be written."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from kvaudit.replay.kernels import compiled

# Root may write anywhere, so the answer is changed rather than the folders.
PROGRAM = """
import os
os.access = lambda *_: False
import numba
import kvaudit.replay.kernels.radix
print(numba.config.CACHE_DIR)
"""


def test_a_private_folder_is_used_where_nothing_else_can_be_written(tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    environment.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    folder = Path(done.stdout.strip())
    assert folder.parent == tmp_path
    assert folder.stat().st_mode & 0o777 == 0o700


def test_the_private_folder_is_the_same_every_time(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert compiled._private_folder() == compiled._private_folder()


@pytest.mark.skipif(os.name == "nt", reason="folders have no such permissions")
def test_a_folder_that_others_can_write_to_is_not_trusted(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = Path(compiled._private_folder())
    folder.chmod(0o777)
    assert compiled._private_folder() != str(folder)


def test_a_user_without_a_home_has_no_cache_folder(monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert compiled._user_cache() is None


def test_a_folder_that_is_yet_to_be_made_counts_as_its_parent(tmp_path):
    assert compiled._can_write(tmp_path / "new" / "folder")
    (tmp_path / "file").touch()
    assert not compiled._can_write(tmp_path / "file" / "below")
