"""Which format wins, and when nobody does."""

import sys
from types import SimpleNamespace

import pytest

from kvaudit.core.errors import InputError
from kvaudit.logs import registry
from kvaudit.logs.detect import detect
from kvaudit.logs.format import EachRow, LogFormat, Sureness


def fake(name, key):
    """A format as sure of a row as the row says under ``key``."""
    return LogFormat(
        name=name,
        title=name,
        recognise=lambda row: Sureness(row.get(key, 0)),
        parser=lambda: EachRow(lambda _: None),
    )


FORMATS = (fake("alpha", "a"), fake("beta", "b"))


@pytest.mark.parametrize(
    ("rows", "winner"),
    [
        pytest.param([{"a": 1}], "alpha", id="only one"),
        pytest.param([{"a": 1, "b": 2}], "beta", id="the surest in a row"),
        pytest.param([{"a": 1}] * 3 + [{"b": 2}], "alpha", id="many generic rows, one odd one"),
        pytest.param([{"a": 1}] * 3 + [{"b": 2}] * 2, "beta", id="sureness is weight"),
        pytest.param([{"a": 2}] * 49 + [{"b": 3}], "beta", id="a header line decides"),
        pytest.param([{"a": 3}] * 49 + [{"b": 4}], "beta", id="kvaudit's own before all"),
        pytest.param([{"a": 1}] + [{}] * 49, "alpha", id="most rows are nobody's"),
    ],
)
def test_the_winner(rows, winner):
    assert detect(rows, FORMATS, "log.jsonl").name == winner


@pytest.mark.parametrize("rows", [[{"a": 1, "b": 1}], [{"a": 3}, {"b": 3}], [{"a": 2}, {"b": 2}]])
def test_a_tie_is_refused_with_both_names(rows):
    says = "log.jsonl could be alpha or beta; say which with --input-format, for example"
    with pytest.raises(InputError, match=says):
        detect(rows, FORMATS, "log.jsonl")


def test_a_header_that_is_no_name_is_quoted_only_when_asked():
    rows = [{"Dear team, my lamp is broken!": "x"}]
    with pytest.raises(InputError, match=r"fields: \[29 characters, #"):
        detect(rows, FORMATS, "log.csv")
    with pytest.raises(InputError, match="fields: Dear team, my lamp is broken!"):
        detect(rows, FORMATS, "log.csv", show_text=True)


def test_many_keys_are_not_all_listed():
    with pytest.raises(InputError, match=r"k0, .*k11, \.\.\.; say where"):
        detect([{f"k{i}": 0 for i in range(30)}], FORMATS, "log.jsonl")


def test_a_format_that_does_not_import_or_has_no_format_is_no_secret(tmp_path, monkeypatch):
    folder = SimpleNamespace(__name__="formats_here", __path__=[str(tmp_path / "formats_here")])
    (tmp_path / "formats_here").mkdir()
    (tmp_path / "formats_here" / "__init__.py").touch()
    module = tmp_path / "formats_here" / "broken.py"
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "folder", folder)
    for text, error in (("import no_such_module", ImportError), ("NAME = 1", AttributeError)):
        module.write_text(text)
        sys.modules.pop("formats_here.broken", None)
        with pytest.raises(error):
            registry.all_formats.__wrapped__()
