"""Images (and later weights): present and verified before anything is stopped."""
