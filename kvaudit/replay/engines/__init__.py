"""One engine a file; the folder is the list."""
