"""Text to token ids: tokenizers, chat templates, memoisation."""
