"""Encoders that were trained on English alone, beside texts of other scripts.

Their vectors of another script are near each other whatever is said, so that limits mean nothing.
The names are those of model cards that say English: sentence-transformers, BAAI bge-*-en, intfloat
e5 without "multilingual", thenlper gte, GPTCache's and RedisVL's defaults.
"""

from __future__ import annotations

import re

_ENGLISH = re.compile(
    r"(sentence-transformers/)?(all-MiniLM-L\d+-v\d|all-mpnet-base-v\d|multi-qa-[\w-]+|msmarco-[\w-]+"
    r"|paraphrase-(MiniLM|mpnet|albert|distilroberta)[\w-]*|all-distilroberta-v\d)"
    r"|BAAI/bge-(small|base|large)-en[\w.-]*|intfloat/e5-(small|base|large)(-v2)?"
    r"|thenlper/gte-(small|base|large)|GPTCache/paraphrase-albert-onnx|redis/langcache-embed-v1"
)
_OTHER_SCRIPT = re.compile(
    r"[\u0370-\u03ff\u0400-\u052f\u0590-\u05ff\u0600-\u06ff\u0900-\u0d7f\u0e00-\u0e7f\u1100-\u11ff"
    r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)
_FEW = 4
"""Letters of another script that a quoted name or a sign has."""


def is_english_encoder(name: str) -> bool:
    """Whether a name is that of an encoder of English."""
    return _ENGLISH.fullmatch(name) is not None


def is_of_other_script(text: str) -> bool:
    """Whether a text is written in letters that are not Latin."""
    return len(_OTHER_SCRIPT.findall(text)) >= _FEW
