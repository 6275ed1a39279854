"""Queries that select records: `status:failed user.id=42 header.trace^ab time>=2026-11-25T08:00`.

`syntax.py` reads a query, `conditions.py` compiles it to a function, `needles.py` finds the bytes that a match must
contain, and `batch_search.py` searches whole batches with both. A query has no scripts and no regular expressions, so
a search takes time in proportion to the bytes that it reads.
"""

from .batch_search import BatchSearch
from .conditions import Candidate, compile_query
from .needles import Needles, needles_of
from .syntax import Query, QueryError, parse_query

__all__ = [
    "BatchSearch",
    "Candidate",
    "Needles",
    "Query",
    "QueryError",
    "compile_query",
    "needles_of",
    "parse_query",
]
