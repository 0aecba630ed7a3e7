"""What is known of a served answer."""

RIGHT, WRONG, UNKNOWN = 0, 1, -1
