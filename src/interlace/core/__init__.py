"""The pure core: privacy as values and functions. It starts no thread and draws no randomness,
does no I/O and reads no clock."""
