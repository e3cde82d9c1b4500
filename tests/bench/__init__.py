"""Measurements: `make bench` prints them. They are never limits in tests."""
