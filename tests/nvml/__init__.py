"""A stand-in for NVIDIA's management library, so that the real binding and the real adapter run without a card."""
