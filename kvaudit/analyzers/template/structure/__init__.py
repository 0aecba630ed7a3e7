"""JSON and YAML as one tree whose every key and value knows its place in the file."""
