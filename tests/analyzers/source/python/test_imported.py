"""Modules that files import are kept for the next file, and no more than there is room for."""

import gc
import weakref

import pytest

from kvaudit.analyzers.source.python import imported
from kvaudit.analyzers.source.python.imported import Imported
from kvaudit.analyzers.source.python.once import Kept
from kvaudit.core.sources import Source

from .reading import Files
from .test_once import CIRCLE, READERS, told

A, B, C = (Source(f"{name}.py", f"{name} = 'a prompt'\n") for name in "abc")


@pytest.fixture
def room_for_two(monkeypatch):
    monkeypatch.setattr(imported, "MAX_CHARS", 2 * len(A.text))


@pytest.mark.usefixtures("room_for_two")
def test_what_was_asked_for_last_is_kept():
    known = Imported()
    first, second = known.module(A), known.module(B)
    assert known.module(A) is first
    known.module(C)
    assert known.module(A) is first
    assert known.module(B) is not second


@pytest.mark.usefixtures("room_for_two")
def test_a_dropped_module_is_gone_at_once_though_what_it_knows_leads_back_to_it():
    known = Imported()
    module = known.module(A)
    module.kept["name"] = Kept(module, 1)
    gone = weakref.ref(module)
    del module
    gc.disable()
    try:
        known.module(B)
        assert gone() is not None
        known.module(C)
        assert gone() is None
    finally:
        gc.enable()


def test_a_file_larger_than_all_room_is_parsed_once_while_nothing_else_is_asked_for(monkeypatch):
    monkeypatch.setattr(imported, "MAX_CHARS", 1)
    known = Imported()
    assert known.module(A) is known.module(A)


def test_without_room_the_same_is_found(monkeypatch):
    expected = {name: told(Files(**CIRCLE), name) for name in READERS}
    monkeypatch.setattr(imported, "MAX_CHARS", 1)
    project = Files(**CIRCLE)
    assert {name: told(project, name) for name in READERS} == expected
