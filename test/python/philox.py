"""Philox4x32-10 in NumPy, by its definition: what the language's random numbers are compared with."""

import numpy as np

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)

KNOWN_ANSWERS = [
    ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]
"""Counters, keys and results that are published with the generator (Random123's `kat_vectors`)."""


def philox(counter, key):
    """Returns four arrays of 32 bits, given a counter of four and a key of two numbers."""
    a, b, c, d = (np.asarray(word, np.uint64) for word in counter)
    first, second = key
    for _ in range(10):
        x, y = a * np.uint64(0xD2511F53), c * np.uint64(0xCD9E8D57)
        a, b, c, d = (y >> HALF) ^ b ^ np.uint64(first), y & LOW, (x >> HALF) ^ d ^ np.uint64(second), x & LOW
        first, second = (first + 0x9E3779B9) % 2**32, (second + 0xBB67AE85) % 2**32
    return a, b, c, d


def numbers(count, seed, sequence=0, first=0):
    """Returns so many numbers of a sequence, which `T.rng_init(seed, sequence, first)` begins."""
    place = np.arange(count, dtype=np.uint64) + np.uint64(first)
    group = place >> np.uint64(2)
    upper = [np.full(count, word, np.uint64) for word in (sequence % 2**32, sequence >> 32)]
    four = philox([group & LOW, group >> HALF, *upper], [seed % 2**32, seed >> 32])
    return np.choose(place.astype(np.int64) % 4, four).astype(np.uint32)


def uniform(words):
    """Returns the numbers of 32 random digits, as `float64`."""
    return (words + 0.5) * 2.0**-32
