"""Functions that build text in a language with few ways to do it: what Go and Rust share.

A function is walked once, statement by statement. Left out on purpose: fields of structs,
interfaces, closures, other files.
"""
