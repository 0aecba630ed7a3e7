"""The models compiled, over integer ids; tested equal to the references."""
