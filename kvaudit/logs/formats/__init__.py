"""One log format a file; the registry finds them by folder."""
