"""Encoders, one module each; see `kvaudit.replay.semantic.encoder`."""
