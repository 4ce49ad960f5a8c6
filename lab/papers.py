"""The papers behind the short names, as ``Dao22``, that references are written with."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["PAPERS", "papers_in"]

PAPERS = {
    "AIO26": "Lu et al., I/O analysis is all you need (AttenIO), ASPLOS 2026",
    "AS24": "Alman, Song, The fine-grained complexity of gradient computation for training large "
    "language models, arXiv 2402.04497",
    "Dao22": "Dao, Fu, Ermon, Rudra, Ré, FlashAttention: fast and memory-efficient exact attention "
    "with IO-awareness, arXiv 2205.14135",
    "Dao23": "Dao, FlashAttention-2: faster attention with better parallelism and work "
    "partitioning, arXiv 2307.08691",
    "HK81": "Hong, Kung, I/O complexity: the red-blue pebble game, STOC 1981",
    "JZ20": "Jain, Zaharia, Spectral lower bounds on the I/O complexity of computation graphs, "
    "arXiv 1909.09791",
    "KW19": "Kwasniewski et al., Red-blue pebbling revisited (COSMA), arXiv 1908.09606",
    "Li24": "Li, Liang, Shi, Song, Zhou, Fine-grained attention I/O complexity: comprehensive "
    "analysis for backward passes, arXiv 2410.09397",
    "PSY25": "Papp, Sobczyk, Yzelman, The impact of partial computations on the red-blue pebble "
    "game, arXiv 2506.10854",
    "RS21": "Rabe, Staats, Self-attention does not need O(n²) memory, arXiv 2112.05682",
    "SLLG17": "Smith, Lowery, Langou, van de Geijn, A tight I/O lower bound for matrix "
    "multiplication, arXiv 1702.02017",
    "SY24": "Saha, Ye, The I/O complexity of attention, or how optimal is FlashAttention?, "
    "arXiv 2402.07443",
}


def papers_in(texts: Iterable[str]) -> dict[str, str]:
    """Return the papers whose short names stand in some of the texts, by short name.

    Examples
    --------
    >>> papers_in(["HK81, section 4", "folklore"])
    {'HK81': 'Hong, Kung, I/O complexity: the red-blue pebble game, STOC 1981'}
    """
    words = {word for text in texts for word in re.findall(r"\b[A-Z][A-Za-z]*\d\d\b", text)}
    return {name: PAPERS[name] for name in sorted(words & set(PAPERS))}
