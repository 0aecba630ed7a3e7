"""Lets ``python -m kvaudit`` do what the ``kvaudit`` command does."""

import os
import sys

# -m puts the current folder first on the path. It may be an audited project, of which nothing is
# to be run, and a file of it called yaml.py would be.
if sys.path and sys.path[0] == os.getcwd() and not __file__.startswith(sys.path[0] + os.sep):
    del sys.path[0]

from kvaudit.cli import main

main()
