"""The nouns of Steward: plain immutable values that every layer shares. Nothing here reads a clock, a file or a socket."""
