"""The self-test of a tokenizer: texts whose ids are known.

Computed with tiktoken 0.14.0 from the published rank files of each vocabulary. The texts
touch what implementations get wrong: contractions in both cases, runs of digits, mixed line
ends, camel case, joined emoji, scripts with combining marks, trailing and no-break spaces.
"""

from kvaudit.core.errors import UsageError
from kvaudit.tokens.tokenizer import Tokenizer

TEXTS = (
    "It's 12345 o'clock,\r\n\r\n  and  WE'LL see\tif caféCamelCase ok\n",
    "你好，世界。\U0001f469\u200d\U0001f4bb स्ते   \n\n\u00a0x",
)
# fmt: off
KNOWN_IDS = {
    "cl100k_base": (
        (2181, 596, 220, 4513, 1774, 297, 63510, 49846, 220, 323, 220, 20255, 6, 4178, 1518,
         748, 53050, 26479, 301, 4301, 5509, 198),
        (57668, 53901, 3922, 3574, 244, 98220, 1811, 9468, 239, 102, 378, 235, 93273, 119,
         69258, 31584, 97, 35470, 35033, 4194, 87),
    ),
    "o200k_base": (
        (15834, 220, 7633, 2548, 293, 141801, 104604, 220, 326, 220, 26919, 6, 7454, 1921,
         1224, 30469, 137910, 6187, 4763, 198),
        (177519, 979, 28428, 788, 28823, 102, 2524, 31446, 119, 103519, 628, 29104, 5310, 87),
    ),
    "llama3": (
        (2181, 596, 220, 4513, 1774, 297, 63510, 49846, 220, 323, 220, 20255, 6, 4178, 1518,
         748, 53050, 26479, 301, 4301, 5509, 198),
        (57668, 53901, 3922, 102616, 1811, 9468, 239, 102, 102470, 93273, 119, 69258, 100365,
         35470, 35033, 4194, 87),
    ),
}
# fmt: on


def check_known_ids(tokenizer: Tokenizer) -> None:
    """Raise `UsageError` if the tokenizer gives other ids than are known for its vocabulary."""
    known = KNOWN_IDS.get(tokenizer.name)
    if known is None:
        return
    found = tuple(tuple(ids.tolist()) for ids in tokenizer.encode_batch(TEXTS))
    if found != known:
        raise UsageError(
            f"{tokenizer.source} does not give the known ids of {tokenizer.name}; "
            "install the version that kvaudit was tested with, or use another tokenizer"
        )
