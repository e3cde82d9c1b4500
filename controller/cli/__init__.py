"""The command line: one verb a file, imported only when it is asked for, so that `validate` starts fast."""

from controller.cli.main import main

__all__ = ["main"]
