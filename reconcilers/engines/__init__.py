"""Serving containers: one running container of the wanted spec for each wanted instance."""
