"""What may look at a pair once more before an answer is served: see `verifier`."""
