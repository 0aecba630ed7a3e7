"""Rows of a format turned into requests, as a file of them would be."""

from collections import Counter
from importlib import import_module
from typing import NamedTuple

import pytest


class Parsed(NamedTuple):
    requests: list
    skipped: Counter


@pytest.fixture
def parse():
    """Return a function from a format's module name and rows to what one file of them gives."""

    def parse_rows(module, *rows):
        parser = import_module(f"kvaudit.logs.formats.{module}").FORMAT.parser()
        requests = [request for row in rows for request in parser.parse(row)]
        return Parsed([*requests, *parser.finish()], parser.skipped)

    return parse_rows
