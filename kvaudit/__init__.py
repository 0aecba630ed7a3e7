"""kvaudit audits the prefix cache and the semantic cache in front of a language model."""

__version__ = "0.1.0"
