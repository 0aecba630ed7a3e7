"""Model shapes, what a token of KV costs, and what providers say of their caches and prices."""
