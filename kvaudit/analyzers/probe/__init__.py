"""Rendering or calling something several times, to see what does not stay the same."""
