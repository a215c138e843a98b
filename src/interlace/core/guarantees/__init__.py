"""Privacy guarantees: one file per notion, and the proven conversions between them."""

from interlace.core.guarantees.approximate import ApproxDP
from interlace.core.guarantees.base import Guarantee, Relation
from interlace.core.guarantees.codec import decode_notion, encode_notion
from interlace.core.guarantees.concentrated import ZCDP, to_zcdp
from interlace.core.guarantees.pure import PureDP

__all__ = [
    "ZCDP",
    "ApproxDP",
    "Guarantee",
    "PureDP",
    "Relation",
    "decode_notion",
    "encode_notion",
    "to_zcdp",
]
