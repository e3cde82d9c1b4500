"""The composition root: the only place that picks concrete classes.

`files` is what needs neither Docker nor a network; `live` builds the controller. Adapters are imported inside the functions
that need them, so that `steward validate` starts without the Docker, HTTP and metrics libraries.
"""
