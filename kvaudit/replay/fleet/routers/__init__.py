"""One router a file; the folder is the list."""
