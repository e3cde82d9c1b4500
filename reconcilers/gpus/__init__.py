"""Cards and who claims them."""
