"""Declarations as a custodian writes them, in TOML: drafted, checked, read, written, rehearsed.

On top of the language: ``advising`` parses the usual questions. Public metadata only.
"""
