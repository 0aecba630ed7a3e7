"""What refuses an entry that is near enough: see `entities`."""
