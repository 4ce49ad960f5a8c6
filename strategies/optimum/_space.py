"""Kernels shared by the searches: the hash table of states, the buckets, the representatives.

A state is a row of 64-bit words. ``space`` holds, for every state stored: its words, its cost so
far g, its estimate f, the state it came from, and the next state in its bucket; with the hash
table and the heads of the buckets. ``control`` holds the numbers that outlive a call.
"""

from __future__ import annotations

import numpy as np

from pebble._jit import jit

__all__ = ["canonical", "insert", "rehash"]

#: Places in ``control``.
COUNT, BUCKET, CEILING, GOAL, BEAM, TAKEN, BUDGET, EXPANDED, GENERATED, WIDTH, LEVEL = range(11)
CONTROLS = 12

#: What a search answers: the buckets are empty, the budget of this call is used up, the arrays
#: are full, the state looked for was made.
EMPTY, PAUSED, FULL, FOUND = range(4)

#: An f that marks a state which a better one has replaced.
DEAD = 65535


@jit
def bits_set(word):  # type: ignore[no-untyped-def]
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    low = np.uint64(0x3333333333333333)
    word = (word & low) + ((word >> np.uint64(2)) & low)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@jit
def canonical(words, base_words, base_scores, weight, image, scores, out):  # type: ignore[no-untyped-def]
    """Write the representative of ``words`` to ``out``; return the automorphism that leads there.

    The scores of ``words`` under every automorphism follow from those of a state that differs in
    few bits, its parent.
    """
    one = np.uint64(1)
    size = scores.size
    for j in range(size):
        scores[j] = base_scores[j]
    for k in range(words.size):
        differ = words[k] ^ base_words[k]
        while differ != 0:
            lowest = differ & (~differ + one)
            p = 64 * k + bits_set(lowest - one)
            row = weight[p]
            if words[k] & lowest:
                for j in range(size):
                    scores[j] += row[j]
            else:
                for j in range(size):
                    scores[j] -= row[j]
            differ ^= lowest
    best = 0
    least = scores[0]
    for j in range(1, size):
        if scores[j] < least:
            least = scores[j]
            best = j
    if best == 0:
        for k in range(words.size):
            out[k] = words[k]
    else:
        for k in range(words.size):
            out[k] = 0
        for k in range(words.size):
            rest = words[k]
            while rest != 0:
                lowest = rest & (~rest + one)
                q = image[best, 64 * k + bits_set(lowest - one)]
                out[q >> 6] |= one << np.uint64(q & 63)
                rest ^= lowest
    return best


@jit
def place(key, mask, size):  # type: ignore[no-untyped-def]
    """Hash the bits of a state that ``mask`` selects."""
    h = np.uint64(0x9E3779B97F4A7C15)
    for k in range(key.size):
        h ^= key[k] & mask[k]
        h *= np.uint64(0xFF51AFD7ED558CCD)
        h ^= h >> np.uint64(32)
    h *= np.uint64(0xC4CEB9FE1A85EC53)
    h ^= h >> np.uint64(29)
    return np.int64(h & np.uint64(size - 1))


@jit
def insert(space, control, mask, key, g, f, bucket, parent):  # type: ignore[no-untyped-def]
    """Store a state unless one stored is as good; return 0 (not stored), 1 (stored) or -1 (full).

    Of two states that differ in dirty bits alone, the one whose g, plus one for each value that
    the other has stored and it has not, is no more than the other's is as good.
    """
    keys, gs, fs, parents, following, table, head = space
    slot = place(key, mask, table.size)
    words = key.size
    replaced = -1
    while True:
        i = table[slot]
        if i < 0:
            break
        same = True
        for k in range(words):
            if (keys[i, k] ^ key[k]) & mask[k]:
                same = False
                break
        if same:
            more = 0
            less = 0
            for k in range(words):
                more += bits_set(keys[i, k] & ~key[k])
                less += bits_set(key[k] & ~keys[i, k])
            if gs[i] + more <= g:
                return 0
            if replaced < 0 and g + less <= gs[i]:
                replaced = slot
        slot = (slot + 1) & (table.size - 1)
    count = control[COUNT]
    if count >= fs.size:
        return -1
    if replaced >= 0:
        fs[table[replaced]] = DEAD
        slot = replaced
    for k in range(words):
        keys[count, k] = key[k]
    gs[count] = g
    fs[count] = f
    parents[count] = parent
    following[count] = head[bucket]
    head[bucket] = count
    table[slot] = count
    control[COUNT] = count + 1
    return 1


@jit
def rehash(keys, fs, mask, count, table):  # type: ignore[no-untyped-def]
    """Enter the stored states that are alive into a new, larger table."""
    for i in range(count):
        if fs[i] != DEAD:
            slot = place(keys[i], mask, table.size)
            while table[slot] >= 0:
                slot = (slot + 1) & (table.size - 1)
            table[slot] = i


@jit
def pop(space, control):  # type: ignore[no-untyped-def]
    """Take the state to expand next: of least f, or, with a beam, of the least level; -1 if none.

    Without a beam, bucket number is f. With one, it is level * width + f, and of each level only
    the first ``beam`` states are taken.
    """
    keys, gs, fs, parents, following, table, head = space
    b = control[BUCKET]
    width = control[WIDTH]
    beam = control[BEAM]
    while b < head.size:
        if beam > 0 and b // width != control[LEVEL]:
            control[LEVEL] = b // width
            control[TAKEN] = 0
        i = head[b]
        if i < 0:
            b += 1
        elif beam > 0 and control[TAKEN] >= beam:
            b = (b // width + 1) * width
        elif b % width >= control[CEILING]:
            b = (b // width + 1) * width if beam > 0 else head.size
        else:
            head[b] = following[i]
            if fs[i] == b % width:
                control[TAKEN] += 1
                control[BUCKET] = b
                return i
    control[BUCKET] = b
    return -1
