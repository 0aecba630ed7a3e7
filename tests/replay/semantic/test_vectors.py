"""Vectors on disk: made once, never trusted when damaged, never torn by another run."""

import numpy as np
import pytest

from kvaudit.replay.semantic.vectors import encode_all


class Counting:
    title, cached, remark = "counting", True, None

    def __init__(self, identity="one"):
        self.identity = identity
        self.read = []

    def encode(self, texts):
        self.read += texts
        return np.array([[len(text), ord(text[0])] for text in texts], np.float32)

    def unknown_share(self, texts):
        return None


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("KVAUDIT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "vectors"


def test_a_text_is_read_once_by_each_encoder(folder):
    first, again, other = Counting(), Counting(), Counting("two")
    vectors = encode_all(first, ["ab", "c"])
    more = encode_all(again, ["c", "def", "ab"])
    assert again.read == ["def"]
    np.testing.assert_array_equal(more[[2, 0]], vectors)
    encode_all(other, ["ab"])
    assert other.read == ["ab"]


def test_what_is_damaged_is_made_anew_and_taken_away(folder, caplog):
    encode_all(Counting(), ["ab", "c"])
    (path,) = folder.rglob("*.vectors")
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    again = Counting()
    np.testing.assert_array_equal(encode_all(again, ["ab"]), [[2, 97]])
    assert again.read == ["ab"]
    assert not path.exists()
    assert "checksum" in caplog.text


@pytest.mark.parametrize("content", [b"", b"kvaudit vectors 1\n", b"something else"])
def test_what_is_no_such_file_counts_for_nothing(folder, content):
    encode_all(Counting(), ["ab"])
    (path,) = folder.rglob("*.vectors")
    path.write_bytes(content)
    assert encode_all(Counting(), ["ab"]).tolist() == [[2, 97]]


def test_a_disk_that_cannot_be_written_costs_nothing_but_time(folder, caplog):
    folder.parent.write_text("a file where the folder should be")
    assert encode_all(Counting(), ["ab"]).tolist() == [[2, 97]]
    assert "not kept" in caplog.text
