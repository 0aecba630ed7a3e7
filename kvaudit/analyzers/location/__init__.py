"""From a text in a log back to the place in the project's files that wrote it."""
