"""What an example of a few-shot prompt looks like, in whatever language it is labelled."""

from __future__ import annotations

import re

from kvaudit.analyzers.template.request_log.system import is_example as is_usual_example

_LABELLED = re.compile(r"\W{0,4}(?P<label>[^\W\d_][\w .#-]{0,24}?)\s?[\"']?[:：]")
_WORDS = re.compile(
    r"\W{0,4}(?:beispiel|exemple|ejemplo|esempio|exemplo|voorbeeld|przykład|пример|例|示例|范例|예시"
    r"|eingabe|ausgabe|frage|antwort|entrée|sortie|entrada|salida|输入|输出|问|答|入力|出力)",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"\d+")


def is_example(text: str) -> bool:
    """Whether a text begins as an example does."""
    return is_usual_example(text) or _WORDS.match(text) is not None


def are_examples(one: str, other: str) -> bool:
    """Whether two texts that changed places are examples: they say so, or have one label."""
    label = label_of(one)
    return is_example(one) or is_example(other) or (label != "" and label == label_of(other))


def label_of(text: str) -> str:
    """Return the label that a text begins with, numbers left out; empty where it has none."""
    found = _LABELLED.match(text)
    return "" if found is None else _NUMBERS.sub("#", found["label"]).strip().lower()
