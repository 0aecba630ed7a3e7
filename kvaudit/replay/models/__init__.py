"""One readable reference a cache model."""
