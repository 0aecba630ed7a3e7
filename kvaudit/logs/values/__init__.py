"""Values of a record: checked, looked up under several names, read as points in time."""
