"""Logs that kvaudit writes: its own record, traces of block hashes, both without text."""
