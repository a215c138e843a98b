"""The shell: what analysts, custodians and privacy engineers type. Holds no rule of privacy."""

from interlace.cli.main import main

__all__ = ["main"]
