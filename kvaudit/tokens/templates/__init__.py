"""Built-in chat templates, one a file."""
