"""Model shapes and what a token of KV costs."""
