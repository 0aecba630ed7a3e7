"""What a pass finds beside its hit rates: one module a part, one line each in `PARTS`.

A part sees every batch after the caches served it, and adds its field to the result.
"""
