"""A semantic cache in front of the model, replayed under a policy; see README.md."""
