"""What providers say about their prompt caches, as dated data files, and how to look it up."""
