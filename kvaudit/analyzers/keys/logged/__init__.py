"""Keys of answer caches held against a request log: what they mix up, what they split.

fields.py    which fields decide an answer, and their values in one form
table.py     the log as numbers: one column a field, one row a request
grouping.py  rows with equal values, and the first of each group
audit.py     hits, wrong hits, leaks and splits of a candidate key
proposal.py  the smallest key without a wrong hit
examples.py  the two requests of a collision, read again from the log
reach.py     which fields a user's function makes its key of
"""
