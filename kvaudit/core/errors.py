"""What can go wrong in a way the user can mend: one sentence each, and the exit codes.

    KvauditError
    ├── UsageError       an option, argument or configuration value
    ├── InputError       a file that cannot be read, or not as what it was said to be
    └── MissingExtra     a feature whose packages are not installed

Every message says what is wrong, where, and what to do. Anything else that is raised is a
bug of kvaudit.
"""

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of every command."""

    OK = 0
    FINDINGS = 1
    ERROR = 2
    NOTHING_CHECKED = 3


class KvauditError(Exception):
    """A mistake in the input or the call; its text is shown to the user as it stands."""


class UsageError(KvauditError):
    """An option, argument or configuration value that cannot be used."""


class InputError(KvauditError):
    """A file that cannot be read."""


class MissingExtra(KvauditError):
    """A feature was asked for whose packages are not installed."""
