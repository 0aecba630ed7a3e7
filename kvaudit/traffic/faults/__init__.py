"""One way to break prefix sharing a file; the registry finds them by folder."""
