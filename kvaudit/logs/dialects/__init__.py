"""What several formats of one product or convention have in common."""
