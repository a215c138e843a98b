"""Privacy guarantees: one file per notion, and the proven conversions between them."""

from interlace.core.guarantees.approximate import ApproxDP
from interlace.core.guarantees.base import Guarantee, Relation
from interlace.core.guarantees.codec import decode_notion, encode_notion
from interlace.core.guarantees.concentrated import ZCDP, to_zcdp
from interlace.core.guarantees.gaussian import GaussianDP
from interlace.core.guarantees.notion import Notion, is_notion
from interlace.core.guarantees.pure import PureDP
from interlace.core.guarantees.renyi import RenyiDP
from interlace.core.guarantees.truncated import TCDP

__all__ = [
    "TCDP",
    "ZCDP",
    "ApproxDP",
    "GaussianDP",
    "Guarantee",
    "Notion",
    "PureDP",
    "Relation",
    "RenyiDP",
    "decode_notion",
    "encode_notion",
    "is_notion",
    "to_zcdp",
]
