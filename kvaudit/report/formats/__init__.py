"""One format a file; the file's name is the format's."""
