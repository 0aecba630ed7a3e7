"""Makes a Hugging Face tokenizer folder of o200k_base with ChatML, for programs that need one.

    python -m bench.tokenizer_folder FOLDER

The merges are derived from the rank file that the bpe-openai package ships, so that both
programs tokenize with the same vocabulary.
"""

import gzip
import json
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from splintr import O200K_BASE_PATTERN
from transformers.convert_slow_tokenizer import TikTokenConverter

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CONTROL = ("<|endoftext|>", "<|endofprompt|>", "<|im_start|>", "<|im_end|>")


def main() -> None:
    """Write tokenizer.json and tokenizer_config.json."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    package = find_spec("bpe_openai")
    assert package is not None
    assert package.origin is not None
    packed = Path(package.origin).parent / "data" / "o200k_base.tiktoken.gz"
    with tempfile.NamedTemporaryFile(suffix=".tiktoken") as ranks:
        ranks.write(gzip.decompress(packed.read_bytes()))
        ranks.flush()
        tokenizer = TikTokenConverter(
            vocab_file=ranks.name, pattern=O200K_BASE_PATTERN, extra_special_tokens=list(CONTROL)
        ).converted()
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "chat_template": CHATML}
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1))


if __name__ == "__main__":
    main()
