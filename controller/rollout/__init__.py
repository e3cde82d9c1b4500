"""Decisions about time and trust: when a boot has failed, when a restart is due, what a revision may remove. Pure."""
