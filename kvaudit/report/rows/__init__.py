"""Per-request results as files: one format a file, named as the suffix it writes."""
