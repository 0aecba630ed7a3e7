"""What is wrong with a log itself, told from its counters, its order and its histories."""
