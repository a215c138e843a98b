"""DuckDB, the default engine: registers sources as a snapshot, and reads plans from it.

Nothing outside this folder knows DuckDB. It decides nothing about privacy.
"""
