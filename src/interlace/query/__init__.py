"""The SQL subset: declare, parse, bound, rewrite. Pure; may not touch data, files or engines.

The modules are imported one by one, so that declaring columns does not load sqlglot.
"""
