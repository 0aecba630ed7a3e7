"""Lets ``python -m kvaudit`` do what the ``kvaudit`` command does."""

from kvaudit.cli import main

main()
