"""Where logged requests part from earlier ones, which text is to blame, and what it costs."""
