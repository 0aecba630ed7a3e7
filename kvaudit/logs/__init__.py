"""Request logs: detection, one file a format, writing."""
