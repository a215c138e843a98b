"""The sentences of a statement that are the same for every centre. Words only."""

from __future__ import annotations

from collections.abc import Mapping

UNIT = (
    "Neighbours add or remove one privacy unit with all its rows, in all tables of all datasets of "
    "its domain, in all their versions. A unit is one value of the unit column in each dataset."
)

ONE_NUMBER = (
    "The guarantee holds for a unit of each domain, whatever was asked on the others. Charges are "
    "reported apart for each domain, but no parallel composition is claimed: the charges of all "
    "domains count in full against every quota. For somebody who is a unit of several domains, or "
    "several units of one, no more than the guarantee for a group of so many units is claimed."
)

ODOMETER = (
    "What is spent is an odometer reading, as of the ledger's head: sessions that are opened later "
    "raise it up to the quota. The promise is the quota."
)

COALITION = (
    "Against all analysts pooling everything they were answered; that they do not collude is not "
    "assumed. Quotas that are fixed before the first answer leaves compose by the concurrent "
    "composition theorems, however the questions are interleaved (Lyu 2022). Where accounts may be "
    "added later, those created together form a generation, and all generations stay within a cap "
    "that was fixed before the first."
)

RULES: Mapping[str, str] = {
    "basic": "exact sums of epsilon and of delta stay within the quota",
    "zcdp": "the exact sum of rho stays within the quota",
    "renyi": "the sum of the Rényi divergences of the quota's order stays within the quota",
    "tcdp": "the sum of rho stays within the quota, each up to the quota's order",
    "gaussian": "the exact sum of mu squared stays within the quota",
    "advanced": "sums of rho and, for sessions with a delta of their own, of delta stay within what "
    "gives the quota (structural approximate zCDP, by Lyu 2022, Theorem 3)",
    "reach": "a value function of the privacy loss stays a supermartingale, each step proved by "
    "interval arithmetic, for this epsilon and delta",
    "residue": "a value function of the privacy loss stays a supermartingale, each step proved by "
    "interval arithmetic, for a whole curve of Gaussian differential privacy",
}

SAMPLER = (
    "Noise is integer-valued and drawn by OpenDP's exact samplers of the discrete Laplace and "
    "discrete Gaussian laws, from cryptographic randomness. The scale that is handed to "
    "them is a float64 that was rounded up, and the guarantee is computed from that same scale. "
    "Bounded values and sums are integers: no answer is computed in floating point."
)

PREPROCESSING = (
    "Registration writes one fixed snapshot: each unit's id becomes a keyed hash, each value an "
    "integer within bounds that the custodian declared, rows without an id are dropped, and "
    "missing or misfit values are treated as declared for their column."
)

TIMING = (
    "Timing is not part of the guarantee. Nothing protects against it beyond the class of "
    "refusals: whether a question is refused, and what for, is decided from public metadata before "
    "any data is read. How long an answer takes may depend on the data."
)

NOT_COVERED: Mapping[str, str] = {
    "timing": TIMING,
    "the folder at rest": (
        "Whoever can read the folder can read the snapshot, which lies in the clear: it belongs on "
        "the custodian's machine, on a local and encrypted disk. The secrets in the ledger are "
        "sealed by a key outside the folder; whoever has the key and the folder has the secrets."
    ),
    "copies and backups": (
        "An older copy of the folder, put back, would answer again what was answered since and "
        "forget what was spent. It is refused where the head that was reached is known, and only "
        "there: keep it elsewhere."
    ),
    "changing data": (
        "The guarantee is for fixed snapshots that do not depend on answers, and for bounds that "
        "do not come from the data. A later snapshot of the same units, be it a new version of a "
        "dataset or another dataset of their domain, adds to what is spent of the same quotas. "
        "Nothing is claimed for one whose content depends on answers that were released before: "
        "that needs the continual model."
    ),
    "coalitions formed as answers arrive": (
        "The guarantee of some accounts together is for a coalition that is fixed in advance. One "
        "that may grow as answers arrive is covered by that of all who might join."
    ),
}

RESTORED = (
    "An older copy of this centre was put back once: what happened between is not known. Sessions "
    "opened before are void, every account counts as spent, and the answers, accounts and datasets "
    "that were lost are not in this statement."
)
