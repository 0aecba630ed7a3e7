"""Types and services every layer uses; imports nothing else of kvaudit."""
