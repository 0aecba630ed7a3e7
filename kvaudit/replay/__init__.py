"""Cache models and what drives them; README.md says what each claims."""
