"""One module a tokenizer package, each with ``load(argument) -> Tokenizer``."""
