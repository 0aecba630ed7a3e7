"""What goes to a model's API and comes back: bodies, usage, media, and what logs put around."""
