"""Where compiled kernels are kept when the usual places cannot be written."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numba
import numpy as np
import pytest

from kvaudit.replay.kernels import compiled

# Root may write anywhere, so the answer is changed rather than the folders.
PROGRAM = """
import os
os.access = lambda *_: False
import numba
import numpy as np
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
    folder = Path(done.stdout.strip()).parent
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


def test_a_folder_that_is_yet_to_be_made_counts_as_its_parent(tmp_path):
    assert compiled._can_write(tmp_path / "new" / "folder")
    (tmp_path / "file").touch()
    assert not compiled._can_write(tmp_path / "file" / "below")


@pytest.mark.parametrize(
    "changed", ["kernels/radix_tree.py", "models/paged.py", "blocks.py", "key_runs.py"]
)
def test_what_any_kernel_is_made_of_names_the_folder(changed, tmp_path):
    """numba itself looks at the file of the kernel only, not at those that it calls."""
    own = ("blocks.py", "key_runs.py")
    for name in ("kernels/radix.py", "kernels/radix_tree.py", "models/paged.py", *own):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("ROOT = 0\n")
    before = compiled._digest(tmp_path)
    assert compiled._digest(tmp_path) == before
    (tmp_path / changed).write_text("ROOT = 1\n")
    assert compiled._digest(tmp_path) != before
    assert numba.config.CACHE_DIR.endswith(compiled._digest(Path(compiled.__file__).parents[1]))


def test_kernels_load_without_what_none_of_them_needs():
    program = (
        "import sys\n"
        "from kvaudit.replay.kernels.hash_rows import scan\n"
        "assert scan(b'{}\\n', 0, 3)[0].requests == 0\n"
        "print(sorted({'scipy', 'yaml'} & set(sys.modules)))\n"
        "import scipy.linalg, yaml\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_what_compiled_code_is_loaded_with_is_not_looked_through_for_garbage():
    program = (
        "import gc\n"
        "import kvaudit.replay.kernels.compiled\n"
        "print(gc.isenabled(), gc.get_freeze_count() > 50_000)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "True True\n"


def test_an_inner_function_leaves_no_reference_of_what_it_is_handed():
    held = compiled.inner(lambda numbers: numbers[0] + numbers[1:].sum())
    numbers = np.arange(9)
    before = sys.getrefcount(numbers)
    assert compiled.compiled(lambda numbers: held(numbers))(numbers) == 36
    assert sys.getrefcount(numbers) == before
