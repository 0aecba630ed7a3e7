"""The commands: each parses, calls, hands to report, returns a code."""
