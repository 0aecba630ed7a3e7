"""The published figures, and the shared traces as kvaudit's own readers give them."""

import json

import pytest

from kvaudit.logs.read import LogReader


@pytest.fixture(scope="session")
def published(shared_data):
    """Every published figure with its source."""
    return json.loads((shared_data / "traces" / "published_expected.json").read_text("utf-8"))


@pytest.fixture(scope="session")
def read_trace(shared_data):
    """Return a function from a shared trace's file name to its requests, in file order."""

    def read(file):
        return list(LogReader([shared_data / "traces" / file]))

    return read
