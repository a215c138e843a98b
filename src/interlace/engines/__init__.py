"""Engines run a bounded plan over a registered snapshot; they decide nothing about privacy."""
