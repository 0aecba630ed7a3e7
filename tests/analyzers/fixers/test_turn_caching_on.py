"""Flags that turn a cache off are taken out byte for byte, or left where that is not certain."""

import pytest

from kvaudit.analyzers.fixers.turn_caching_on import fix
from kvaudit.core.document import Evidence
from kvaudit.core.findings import Finding, Severity
from kvaudit.core.sources import Source, Span

OFF = "--no-enable-prefix-caching"


def fixed(text, found=OFF, severity=Severity.ERROR):
    start = text.index(found)
    finding = Finding(
        code="KV601",
        rule="prefix-caching-off",
        severity=severity,
        evidence=Evidence.DATAFLOW,
        source=Source("a.yaml", text),
        span=Span(start, start + len(found)),
        message="off",
    )
    made = fix(finding)
    if made is None:
        return None
    (edit,) = made.edits
    return text[: edit.span.start] + edit.replacement + text[edit.span.end :], made.safe


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"args:\n  - serve\n  - {OFF}\n  - m\n", "args:\n  - serve\n  - m\n"),
        (f"args:\n  - serve\n  - {OFF}\n", "args:\n  - serve\n"),
        (f"args: [serve, m, {OFF}]\n", "args: [serve, m]\n"),
        (f"vllm serve m {OFF} --port 1\n", "vllm serve m --port 1\n"),
        (f"vllm serve m {OFF}", "vllm serve m"),
        (f"vllm serve m \\\n  {OFF} \\\n  --port 1\n", "vllm serve m \\\n  --port 1\n"),
        (f"vllm serve m \\\n  {OFF}\nwait\n", "vllm serve m\nwait\n"),
        (f"command: >\n  vllm serve m\n  {OFF} --port 1\n",
         "command: >\n  vllm serve m\n  --port 1\n"),
    ],
    ids=["item", "last item", "flow", "inline", "end", "continued", "last line", "folded"],
)  # fmt: skip
def test_a_flag_goes_with_what_belongs_to_it_alone(text, expected):
    assert fixed(text) == (expected, True)


@pytest.mark.parametrize(
    "text", [f"args:\n  - {OFF}\n", f"args:\n  - {OFF} # measured\n  - m\n", f"x='{OFF}'\n"]
)
def test_where_a_neighbour_would_change_there_is_no_fix(text):
    assert fixed(text) is None


def test_a_setting_is_turned_over_in_its_own_spelling():
    said = "enablePrefixCaching: false"
    assert fixed(f"a:\n  {said}  # off\n", said) == (
        "a:\n  enablePrefixCaching: true  # off\n",
        True,
    )
    said = "enable_block_reuse: False"
    assert fixed(said, said) == ("enable_block_reuse: True", True)
    assert fixed("disable_radix_cache: true", "disable_radix_cache: true") == (
        "disable_radix_cache: false",
        True,
    )


def test_what_is_milder_is_left_to_a_person():
    assert fixed(f"vllm serve m {OFF}", severity=Severity.WARNING) == ("vllm serve m", False)
