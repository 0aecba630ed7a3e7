"""Folders that hold nothing which the people of a project wrote."""

from __future__ import annotations

NOT_OURS = frozenset({
    ".bzr", ".direnv", ".eggs", ".git", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".next",
    ".nox", ".nuxt", ".pytest_cache", ".ruff_cache", ".svelte-kit", ".svn", ".terraform", ".tox",
    ".turbo", ".venv", ".yarn", "__generated__", "__pycache__", "__pypackages__", "_build",
    "_vendor", "bower_components", "buck-out", "build", "dist", "generated", "node_modules",
    "site-packages", "target", "third-party", "third_party", "venv", "vendor", "vendored",
})  # fmt: skip
"""Folders of dependencies, caches and generated code."""
