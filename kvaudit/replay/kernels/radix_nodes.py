"""A node of SGLang's radix tree as a row of numbers, so that a visit waits for memory once."""

LENGTH, PARENT, RUN, CHILDREN, USERS, TOUCHED, PRIORITY, USES, CREATED = range(9)
"""Columns: pages, 0 for the root and for a node that was dropped; the node before it; the run of
keys that its first page is in; how many nodes follow it; the rest as in `models.radix.Node`."""
COLUMNS = 9
