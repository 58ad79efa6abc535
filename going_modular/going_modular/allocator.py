"""On Linux, memory that a tensor leaves is kept for the next one.

glibc gives large pieces back to the system at once and asks for them anew, and the system then empties each page before
it hands it over: on a CPU, up to a quarter of the time of a ViT's forward pass in bfloat16.
"""

import ctypes
import os
import sys

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h
KEPT = 2**30  # bytes of freed memory that stay, and the largest tensor that may lie there
KEPT_BY_OLDER_GLIBC = 2**25  # the largest M_MMAP_THRESHOLD that older versions take


def keep_freed_memory() -> bool:
    """Whether this process keeps its freed memory from now on.

    False, and nothing is changed, where there is no glibc, or where the user has set one of its two thresholds.
    """
    chosen = "MALLOC_MMAP_THRESHOLD_" in os.environ or "MALLOC_TRIM_THRESHOLD_" in os.environ
    if sys.platform != "linux" or chosen:
        return False
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):  # another C library, such as musl
        return False
    large = any(mallopt(M_MMAP_THRESHOLD, size) for size in (KEPT, KEPT_BY_OLDER_GLIBC))
    return large and bool(mallopt(M_TRIM_THRESHOLD, KEPT))
