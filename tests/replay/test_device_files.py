"""Files of KV: what is written comes back, and nothing else is ever used."""

import os
import shutil

import pytest
import torch

from kvaudit.core.errors import InputError
from kvaudit.replay.device.files import FileTier
from kvaudit.replay.device.kv import KvShape

KV = KvShape(layers=2, heads=1, head_dim=4, dtype=torch.bfloat16)
FIRST, SECOND, THIRD = (bytes([n]) * 32 for n in (1, 2, 3))


def tier(folder, identity="model"):
    return FileTier("disk", folder, KV, block=3, identity=identity, device=torch.device("cpu"))


def blocks(count, seed=0):
    numbers = torch.Generator().manual_seed(seed)
    return torch.randn(count, *KV.block(3), generator=numbers).to(torch.bfloat16)


@pytest.fixture
def written(tmp_path):
    kept = blocks(3)
    tier(tmp_path).write([FIRST, SECOND, THIRD], kept)
    return tmp_path, kept


def path_of(folder, digest):
    return next(folder.glob(f"*/{digest.hex()}.safetensors"))


def test_another_process_reads_what_was_written(written):
    folder, kept = written
    again = tier(folder)
    assert set(again.found_at_start) == {FIRST, SECOND, THIRD}
    assert torch.equal(again.read([SECOND, FIRST]), kept[[1, 0]])
    assert again.totals().read_bytes == kept[:2].nbytes


def test_the_oldest_comes_first(written):
    folder, _ = written
    tier(folder).set_ages([THIRD, FIRST, SECOND])
    assert tier(folder).found_at_start == [THIRD, FIRST, SECOND]


def test_another_model_finds_nothing(written):
    folder, _ = written
    assert tier(folder, "other").found_at_start == []


DAMAGE = {
    "flipped": lambda path: path.write_bytes(path.read_bytes()[:-1] + b"\x7f"),
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:-5]),
    "header only": lambda path: path.write_bytes(path.read_bytes()[:8]),
    "empty": lambda path: path.write_bytes(b""),
    "of another block": lambda path: shutil.copy(path_of(path.parents[1], THIRD), path),
    "gone": lambda path: path.unlink(),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_ends_the_reading_is_counted_and_removed(written, damage):
    folder, kept = written
    again = tier(folder)
    DAMAGE[damage](path_of(folder, SECOND))
    assert torch.equal(again.read([FIRST, SECOND, THIRD]), kept[:1])
    assert (again.damaged_blocks, again.holds(SECOND), again.holds(THIRD)) == (1, False, True)
    assert not [*folder.glob(f"*/{SECOND.hex()}*")]


def test_only_what_is_kept_stays(written):
    folder, _ = written
    tier(folder).keep([SECOND])
    assert tier(folder).found_at_start == [SECOND]


def test_what_a_killed_process_left_half_written_is_removed(written):
    folder, _ = written
    unfinished = path_of(folder, FIRST).with_suffix(".new")
    unfinished.write_bytes(b"half")
    assert len(tier(folder).found_at_start) == 3
    assert not unfinished.exists()


def test_files_of_others_are_left_alone(written):
    folder, _ = written
    other = path_of(folder, FIRST).with_name("notes.safetensors")
    other.write_text("mine")
    tier(folder).keep([])
    assert other.read_text() == "mine"


def test_a_disk_without_room_is_an_error_that_leaves_no_file(written, monkeypatch):
    folder, kept = written

    def full(one, other):
        raise OSError(28, "No space left on device")

    again = tier(folder)
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(InputError, match="No space left on device; make room"):
        again.write([bytes(32)], kept[:1])
    assert not [*folder.glob("*/*.new")]


def test_a_folder_in_a_files_place_is_an_error_and_no_crash(written):
    folder, _ = written
    path = path_of(folder, FIRST)
    path.unlink()
    path.mkdir()
    with pytest.raises(InputError, match="cannot be removed"):
        tier(folder).read([FIRST])
