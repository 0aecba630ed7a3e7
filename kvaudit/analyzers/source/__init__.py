"""Readers of program source: prompts as the code builds them."""
