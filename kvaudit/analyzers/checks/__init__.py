"""One check a file; a rule file picks one by its name and gives it parameters."""
