"""Results as text, JSON and files: one format a file."""
