"""Fixes: exact edits, in an order that holds, of files that can still be read."""

import codecs
from dataclasses import replace

import pytest

from kvaudit.analyzers import fixing, inspection, reader
from kvaudit.analyzers.fixers import sort_keys, wrap_in_sorted
from kvaudit.analyzers.reader import Unreadable
from kvaudit.core.document import Evidence
from kvaudit.core.findings import Edit, Finding, Fix, Severity
from kvaudit.core.sources import Source, Span

from .calls import call, result

JOINED = '", ".join(set(tags))'
SORTED = '", ".join(sorted(set(tags)))'


def put(work, text, name="a.tiny.py"):
    (work / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return work / name


def test_safe_fixes_are_made_and_the_result_is_linted_again(work, capsys):
    path = put(work, f"x = {JOINED}\ny = set(b)\n")
    code, document = result(capsys, "--fix")
    assert path.read_text() == f"x = {SORTED}\ny = set(b)\n"
    assert (code, document["fixed"]) == (0, 1)
    assert [f["message"] for f in document["findings"]] == [
        "the order of a set: set(tags) has no order",
        "the order of a set: set(b) has no order",
    ]


def test_unsafe_fixes_are_made_when_they_are_asked_for(work, capsys):
    path = put(work, "y = set(b)\n")
    assert result(capsys, "--fix")[1]["fixed"] == 0
    assert result(capsys, "--fix", "--unsafe-fixes")[1]["fixed"] >= 1
    assert path.read_text().startswith("y = sorted(")


@pytest.mark.parametrize(
    "data",
    [
        f"a = {JOINED}\r\nb = 'é🕐'; c = {JOINED}\r\n\r\n".encode(),
        codecs.BOM_UTF8 + f"a = {JOINED}\n".encode(),
        codecs.BOM_UTF16_LE + f"a = 'é' + {JOINED}\n".encode("utf-16-le"),
        f"a = {JOINED}\n\ta = 1 \x0c\n# no end of line".encode(),
    ],
)
def test_all_other_bytes_stay(work, capsys, data):
    path = put(work, data)
    result(capsys, "--fix")
    wide = data.startswith(codecs.BOM_UTF16_LE)
    old, new = (s.encode("utf-16-le" if wide else "utf-8") for s in (JOINED, SORTED))
    assert path.read_bytes() == data.replace(old, new)


def test_the_difference_is_shown_and_nothing_is_written(work, capsys):
    path = put(work, f"x = {JOINED}\r\nkey = 'sk-proj-abcdefghijklmnop1234'")
    before = path.read_bytes()
    code, out, err = call(capsys, "--diff")
    assert (code, err) == (1, "")
    assert out.splitlines() == [
        "--- a/a.tiny.py",
        "+++ b/a.tiny.py",
        "@@ -1,2 +1,2 @@",
        f"-x = {JOINED}",
        f"+x = {SORTED}",
        f" key = '{'*' * 28}'",
        "\\ No newline at end of file",
    ]
    assert path.read_bytes() == before
    put(work, "x = 1\n")
    assert call(capsys, "--diff")[:2] == (0, "")
    path.unlink()
    assert call(capsys, "--diff")[0] == 3


def finding(source, start, end, replacement, *, safe=True):
    edit = Edit(source=source, span=Span(start, end), replacement=replacement)
    return Finding(
        code="KV001", rule="r", severity=Severity.ERROR, evidence=Evidence.NAME, source=source,
        span=Span(start, end), message="m", fix=Fix(title="t", edits=[edit], safe=safe),
    )  # fmt: skip


def test_of_fixes_in_each_others_way_the_first_is_made_and_the_others_are_said(work):
    source = Source("a.tiny", "abcdef")
    put(work, source.text, "a.tiny")
    done = fixing.repairs(
        [
            finding(source, 0, 3, "X"),
            finding(source, 2, 4, "Y"),
            finding(source, 3, 3, "+"),
            finding(source, 5, 6, "Z", safe=False),
            finding(source, 0, 3, "X"),
        ],
        unsafe=False,
    )
    assert [repair.after for repair in done.files] == ["X+def"]
    assert done.fixed == 3
    assert len(done.notes) == 1
    assert "another fix changes the same text" in done.notes[0]


def test_a_file_that_changed_meanwhile_is_left_alone(work):
    put(work, "other", "a.tiny")
    done = fixing.repairs([finding(Source("a.tiny", "abc"), 0, 1, "X")], unsafe=True)
    assert not done.files
    assert done.notes == ["a.tiny: not fixed: it has changed since it was linted"]


def test_a_result_that_could_not_be_read_is_not_written(work, capsys, monkeypatch):
    tiny = reader.all_readers()[0]

    def read(source, project):
        if "sorted" in source.text:
            raise Unreadable("it is broken")
        return tiny.read(source, project)

    for module in (reader, inspection):
        monkeypatch.setattr(module, "all_readers", lambda: (replace(tiny, read=read),))
    path = put(work, f"x = {JOINED}\n")
    document = result(capsys, "--fix")[1]
    assert path.read_text() == f"x = {JOINED}\n"
    assert document["notes"] == ["a.tiny.py: not fixed: the result could not be read: it is broken"]
    assert document["fixed"] == 0


def test_standard_input_cannot_be_fixed(work, capsys, monkeypatch):
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x")))
    assert "name a file" in call(capsys, "-", "--fix")[2]


def fixed(fixer, text, path="a.py"):
    """Return a text with the fix of its whole made, and whether that is safe."""
    source = Source(path, f"é {text} é")
    made = fixer.fix(finding(source, 2, 2 + len(text), ""))
    if made is None:
        return None
    (edit,) = made.edits
    after = source.text[: edit.span.start] + edit.replacement + source.text[edit.span.end :]
    return after[2:-2], made.safe


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("'é'.join(set(a))", ("'é'.join(sorted(set(a)))", True)),
        (
            "'x'.join(\n  {f(é)\n   for é in y})",
            ("'x'.join(\n  sorted({f(é)\n   for é in y}))", True),
        ),
        ("set(a)", ("sorted(set(a))", False)),
        ("frozenset(a)", ("sorted(frozenset(a))", False)),
        ("os.listdir(p)", ("sorted(os.listdir(p))", True)),
        ("Path(p).glob('*.md')", ("sorted(Path(p).glob('*.md'))", True)),
        ("'x'.join(sorted(a))", None),
        ("'x'.join(a for a in set(b))", None),
        ("items", None),
        ("not python (", None),
    ],
)
def test_wrap_in_sorted(before, after):
    assert fixed(wrap_in_sorted, before) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("json.dumps(x)", ("json.dumps(x, sort_keys=True)", False)),
        ("dumps((x), indent=2,)", ("dumps((x), indent=2, sort_keys=True)", False)),
        ("json.dumps(\n    x,\n)", ("json.dumps(\n    x,\n sort_keys=True)", False)),
        ("json.dumps(x, sort_keys=False)", None),
        ("json.dumps(x, **more)", None),
        ("json.loads(x)", None),
        ("json.dumps()", None),
    ],
)
def test_sort_keys(before, after):
    assert fixed(sort_keys, before) == after


def test_a_template_is_no_python():
    assert fixed(wrap_in_sorted, "set(a)", "a.j2") is None
