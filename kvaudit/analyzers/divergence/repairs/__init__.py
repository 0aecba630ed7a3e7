"""Fixes of a text, each applied to every request of a log as a developer would apply it."""
