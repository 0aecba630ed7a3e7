"""One kind of application a file; the registry finds them by folder."""
