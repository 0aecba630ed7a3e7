"""For formats whose records are not one request each: sessions, dialogues, calls among others."""
