"""The pure core: privacy as values and functions. No I/O, no clock, no threads, no randomness."""
