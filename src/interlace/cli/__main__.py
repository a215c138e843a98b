"""Runs the shell: ``python -m interlace.cli``."""

from interlace.cli.main import main

main()
