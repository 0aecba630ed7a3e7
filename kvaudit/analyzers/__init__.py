"""Text or requests in, findings out."""
