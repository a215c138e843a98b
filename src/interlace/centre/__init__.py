"""Datasets, accounts, sessions: the imperative shell around the core, with one loop."""

from interlace.centre.account import Account
from interlace.centre.answers import Accuracy, Answer
from interlace.centre.audit import Audit
from interlace.centre.centre import Centre
from interlace.centre.coalition import CoalitionGuarantee
from interlace.centre.dummy import Dummy
from interlace.centre.registering import Registration
from interlace.centre.restoring import restore
from interlace.centre.session import Session
from interlace.centre.statement import Statement

__all__ = [
    "Account",
    "Accuracy",
    "Answer",
    "Audit",
    "Centre",
    "CoalitionGuarantee",
    "Dummy",
    "Registration",
    "Session",
    "Statement",
    "restore",
]
