"""Readers of prompt files: templates, chat templates, message lists, plain text."""
