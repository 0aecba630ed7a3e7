"""Seeded, realistic example traffic, so that nobody else's data is needed."""
