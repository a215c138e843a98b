"""SQLite, the default ledger: what is SQLite's alone; the table's meaning lies beside it.

The chain, the statements and the transaction are shared with every other database.
"""
