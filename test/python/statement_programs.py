"""Programs of statements and variables, each with what it computes in NumPy: of 1024 integers as many.

The tests run them on the CPU, those of `test/integration` on a GPU, many times: what is wrong there is a race.
"""

import numpy as np

import tilec.language as T


@T.prim_func
def count(A: T.Tensor((1024,), "int32"), B: T.Tensor((1024,), "int32")):
    with T.Kernel(1, threads=1024):
        for _ in T.serial(100):
            B[0] = B[0] + A[0]
        B[1] = B[0]


def counted(a):
    b = np.zeros(1024, np.int32)
    b[:2] = 100 * a[0]
    return b


@T.prim_func
def branch(A: T.Tensor((1024,), "int32"), B: T.Tensor((1024,), "int32")):
    with T.Kernel(1, threads=256):
        tx = T.get_thread_binding()
        S = T.alloc_shared((1024,), "int32")
        S2 = T.alloc_shared((4,), "int32")
        T.copy(A, S)
        if tx == 0:
            S2[0] = S[1000] * 2
        for i in T.Parallel(1024):
            B[i] = S2[0]


def branched(a):
    return np.full(1024, a[1000] * 2)


@T.prim_func
def scan(A: T.Tensor((1024,), "int32"), B: T.Tensor((1024,), "int32")):
    with T.Kernel(1, threads=1024):
        tx = T.get_thread_binding()
        S = T.alloc_shared((1024,), "int32")
        S[tx] = A[tx]
        for step in T.unroll(10):
            other = T.if_then_else(tx >= 2**step, S[(tx + 1024 - 2**step) % 1024], 0)
            S[tx] = S[tx] + other
        B[tx] = S[tx]


@T.prim_func
def sums(A: T.Tensor((1024,), "int32"), B: T.Tensor((1024,), "int32")):
    with T.Kernel(1, threads=128):
        tx = T.get_thread_binding()
        total = T.alloc_var("int32", 0)
        parts = T.alloc_local((4,), "int32")
        T.clear(parts)
        for k in T.serial(8):
            total += A[k * 128 + tx]
            parts[(k + tx) % 4] = parts[(k + tx) % 4] + A[k * 128 + tx]
        B[tx] = total
        B[127 - tx + 128] = total
        B[256 + tx] = parts[1]
        B[tx] = B[(tx + 1) % 128]
        B[512 + tx] = B[tx]


def summed(a):
    rows, b = a.reshape(8, 128), np.zeros(1024, np.int32)
    t = np.arange(128)
    b[:128] = b[512:640] = np.roll(rows.sum(0), -1)
    b[128:256] = rows.sum(0)[::-1]
    b[256:384] = sum(np.where((k + t) % 4 == 1, rows[k], 0) for k in range(8))
    return b


@T.prim_func
def variable(A: T.Tensor((1024,), "int32"), B: T.Tensor((1024,), "int32")):
    with T.Kernel(1, threads=128):
        v = T.alloc_var("int32", 7)
        for i in T.Parallel(1024):
            if A[i] > 50:
                v = v + A[i]
            B[i] = v


def varied(a):
    return np.where(a > 50, a + 7, 7)


@T.prim_func
def loops(A: T.Tensor((1024,), "int32"), B: T.Tensor((1024,), "int32")):
    with T.Kernel(1, threads=256):
        tx = T.get_thread_binding()
        S = T.alloc_shared((1024,), "int32")
        T.copy(A, S)
        total = T.alloc_var("int32", 0)
        for k in T.serial(A[tx] % 7):
            total += S[tx + k * 100]
        while S[3] < 1000:
            S[3] = S[3] + 1
        S[tx] = total + S[3]
        T.copy(S, B)


def looped(a):
    b, t = a.copy(), np.arange(256)
    total = sum(np.where(k < a[t] % 7, a[t + k * 100], 0) for k in range(7))
    b[:256] = total + 1000
    return b


@T.prim_func
def elements(A: T.Tensor((1024,), "int32"), B: T.Tensor((1024,), "int32")):
    with T.Kernel(1, threads=128):
        tx = T.get_thread_binding()
        x = T.alloc_fragment((1024,), "int32")
        total = T.alloc_fragment((1,), "int32")
        n = T.alloc_var("int32", 0)
        T.copy(A, x)
        T.reduce_sum(x, total)
        mean = total[0] // 1024
        x[3] = mean
        B[0] = x[3] + x[4]
        for k in T.serial(3):
            x[k] = x[k + 1] * 2
        if x[2] > mean:
            B[1] = x[0]
        else:
            B[1] = -x[0]
        while x[n + 4] < 50:
            n += 1
        B[2] = n
        B[128 + tx] = x[128 + tx] + total[0]
        for i in T.Parallel(768):
            B[256 + i] = x[256 + i] - mean


def element_by_element(a):
    b, x = np.zeros(1024, np.int32), a.copy()
    mean = x.sum() // 1024
    x[3] = mean
    b[0] = x[3] + x[4]
    for k in range(3):
        x[k] = x[k + 1] * 2
    b[1] = x[0] if x[2] > mean else -x[0]
    b[2] = np.argmax(x[4:] >= 50)
    b[128:256] = x[128:256] + a.sum()
    b[256:] = x[256:] - mean
    return b


@T.prim_func
def beyond(A: T.Tensor((1024,), "int32"), B: T.Tensor((1024,), "int32")):
    with T.Kernel(1, threads=128):
        tx = T.get_thread_binding()
        found = T.alloc_local((2,), "int32")
        count = T.alloc_var("uint8")
        T.clear(found)
        count = 0
        for k in T.serial(4):
            is_even = A[tx * 4 + k] % 2 == 0
            found[count] = T.if_then_else(is_even, k + 1, found[count])
            count = T.if_then_else(is_even, count + 1, count)
        B[tx] = found[0] * 10 + found[1]
        for i in T.Parallel(256):
            pair = T.alloc_local((2, 2), "int32")
            for row, column in T.grid(2, 2):
                pair[row, column] = row * 2 + column
            pair[A[i] % 4 - 1, A[i + 1] % 3] = 100
            B[256 + i] = ((pair[0, 0] * 10 + pair[0, 1]) * 10 + pair[1, 0]) * 10 + pair[1, 1]
        counts = T.alloc_local((3,), "int32")
        T.clear(counts)
        for k in T.serial(64):
            counts[A[k] % 5] += 1
            counts[2 - A[k]] = counts[2 - A[k]]
        for k in T.serial(3):
            B[512 + k] = counts[k]


def kept_inside(a):
    b = np.zeros(1024, np.int32)
    for t in range(128):
        even = [k + 1 for k in range(4) if a[t * 4 + k] % 2 == 0] + [0, 0]
        b[t] = even[0] * 10 + even[1]
    for i in range(256):
        pair = np.arange(4).reshape(2, 2)
        row, column = a[i] % 4 - 1, a[i + 1] % 3
        if 0 <= row < 2 and column < 2:
            pair[row, column] = 100
        b[256 + i] = pair.flatten() @ [1000, 100, 10, 1]
    b[512:515] = np.bincount(a[:64] % 5, minlength=5)[:3]
    return b


@T.prim_func
def parts_beyond(A: T.Tensor((1024,), "int32"), B: T.Tensor((1024,), "int32")):
    with T.Kernel(1, threads=32):
        for i in T.Parallel(32):
            place, other = A[i] % 16 - 5, A[i + 1] % 16 - 5
            row = T.alloc_local((7,), "int32")
            rows = T.alloc_local((3, 4), "int32")
            square = T.alloc_local((8,), "int32")
            T.clear(row)
            T.clear(rows)
            T.clear(square)
            T.copy(A[i : i + 3], row[place : place + 3])
            T.fill(rows[place, :], 1 + i)
            T.reshape(square, (2, 4))[place, other] = 1 + i
            T.view(square, dtype="float32")[other + 3] = 1.0
            for k in T.serial(7):
                B[i * 27 + k] = row[k]
            for k in T.serial(12):
                B[i * 27 + 7 + k] = rows[k // 4, k % 4]
            for k in T.serial(8):
                B[i * 27 + 19 + k] = square[k]


def parts_inside(a):
    b = np.zeros(1024, np.int32)
    for i in range(32):
        place, other = a[i] % 16 - 5, a[i + 1] % 16 - 5
        row, rows, square = np.zeros(7, np.int32), np.zeros((3, 4), np.int32), np.zeros((2, 4), np.int32)
        for k in range(3):
            if 0 <= place + k < 7:
                row[place + k] = a[i + k]
        if 0 <= place < 3:
            rows[place] = 1 + i
        if 0 <= place < 2 and 0 <= other < 4:
            square[place, other] = 1 + i
        if 0 <= other + 3 < 8:
            square.reshape(8)[other + 3] = 0x3F800000
        b[i * 27 : i * 27 + 27] = np.concatenate([row, rows.ravel(), square.ravel()])
    return b


@T.prim_func
def handed_out(A: T.Tensor((1024,), "int32"), B: T.Tensor((1024,), "int32")):
    with T.Kernel(1, threads=64):
        row, tile = T.alloc_fragment((8,), "int32"), T.alloc_fragment((16, 12), "int32")
        for i in T.Parallel(8):
            row[i] = A[i] + 1
        for i, j in T.Parallel(16, 12):
            tile[i, j] = A[i * 12 + j]
        few, column, many = (
            T.alloc_local((8,), "int32"),
            T.alloc_local((5,), "float32"),
            T.alloc_local((16, 12), "int32"),
        )
        T.copy(row, few)
        T.copy(tile[2:7, 3], column)
        T.copy(tile, many)
        for i in T.Parallel(200):
            B[i] = few[i % 8] + T.cast(column[i % 5], "int32") * 2 + many[i * 7 % 192 // 12, i * 7 % 12] * 3


def had_by_all(a):
    b, i = np.zeros(1024, np.int32), np.arange(200)
    tile = a[:192].reshape(16, 12)
    b[:200] = a[i % 8] + 1 + tile[2:7, 3][i % 5] * 2 + a[(i * 7) % 192] * 3
    return b


@T.prim_func
def found(A: T.Tensor((1024,), "int32"), B: T.Tensor((1024,), "int32")):
    with T.Kernel(1, threads=32):
        tile = T.alloc_fragment((8, 16), "int32")
        for i, j in T.Parallel(8, 16):
            tile[i, j] = A[i * 16 + j]
        greatest, places = T.alloc_local((8,), "int32"), T.alloc_local((8,), "int32")
        turned = T.alloc_local((16, 8), "int32")
        T.fill(greatest, 5)
        T.reduce_max(tile, greatest, dim=1, clear=False)
        T.reduce_argmax(tile, places, dim=1)
        T.transpose(tile, turned)
        for i in T.Parallel(128):
            B[i] = greatest[i % 8] + places[i % 8] * 3 + turned[i % 16, i // 16] * 7


def found_by_all(a):
    b, i, tile = np.zeros(1024, np.int32), np.arange(128), a[:128].reshape(8, 16)
    b[:128] = np.maximum(tile.max(1), 5)[i % 8] + tile.argmax(1)[i % 8] * 3 + tile.T[i % 16, i // 16] * 7
    return b


@T.prim_func
def sequences(A: T.Tensor((1024,), "int32"), B: T.Tensor((1024,), "int32")):
    with T.Kernel(1, threads=64):
        tx = T.get_thread_binding()
        S = T.alloc_shared((64, 8), "int32")
        row, other = T.alloc_local((8,), "int32"), T.alloc_local((8,), "int32")
        for k in T.vectorized(8):
            row[k] = A[tx * 8 + k]
        for i in T.serial(3):
            for j in T.serial(8 // (2 << i)):
                for k in T.serial(1 << i):
                    row[j * (2 << i) + k] = row[j * (2 << i) + k] + row[j * (2 << i) + k + (1 << i)]
                    row[j * (2 << i) + k + (1 << i)] = row[j * (2 << i) + k] - 2 * row[j * (2 << i) + k + (1 << i)]
        for k in T.serial(8):
            S[tx, k] = row[k]
        for k in T.serial(8):
            other[k] = S[(tx + 5) % 64, 7 - k]
        for k in T.serial(8):
            S[tx, k] = other[(k + A[tx]) % 8]
        for k in T.serial(8):
            B[tx * 16 + k] = S[tx, k] + row[A[tx + 64] % 8]
        for k in T.serial(8):
            B[tx * 16 + 8 + k] = S[tx ^ 1, k]


def in_sequence(a):
    rows = a[:512].reshape(64, 8).astype(np.int32)
    for i in range(3):
        pairs = rows.reshape(64, -1, 2, 1 << i)
        rows = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], 2).reshape(64, 8)
    t, k = np.arange(64)[:, None], np.arange(8)
    other = rows[(t + 5) % 64, 7 - k]
    tile = other[t, (k + a[:64, None]) % 8]
    b = np.concatenate([tile + rows[t, a[64:128, None] % 8], tile[t ^ 1, k]], 1)
    return b.astype(np.int32).ravel()


@T.prim_func
def kept(A: T.Tensor((1024,), "int32"), B: T.Tensor((1024,), "int32")):
    with T.Kernel(1, threads=(8, 4)):
        x, y = T.get_thread_binding(0), T.get_thread_binding(1)
        S = T.alloc_shared((256,), "int32")
        counts = T.alloc_local((100,), "int32")
        T.clear(counts)
        for i in T.serial(4):
            T.copy(A[i * 256], S)
            for k in T.serial(8):
                counts[S[(y * 8 + x) * 8 + k] % 100] += k + 1
        for k in T.serial(32):
            B[(y * 8 + x) * 32 + k] = counts[k * 3]


def kept_by_each(a):
    counts = np.zeros((32, 100), np.int32)
    for i in range(4):
        for k in range(8):
            counts[np.arange(32), a[i * 256 : i * 256 + 256].reshape(32, 8)[:, k] % 100] += k + 1
    return counts[:, :96:3].ravel()


@T.prim_func
def in_order(A: T.Tensor((1024,), "int32"), B: T.Tensor((1024,), "int32")):
    with T.Kernel(1, threads=64):
        tx = T.get_thread_binding()
        S, first = T.alloc_shared((64,), "int32"), T.alloc_shared((16,), "int32")
        own = T.alloc_local((9,), "int32")
        T.clear(own)
        for k in T.serial(9):
            own[k] += A[tx + k]
            S[(tx + k) % 64] = own[k] * 10 + k
        B[tx] = S[tx]
        for k in T.serial(9):
            first[k] = A[k] + k
            own[k] += A[tx] + 1
        B[64 + tx] = own[tx % 9] + first[tx % 9]
        for k in T.serial(9):
            own[k] = S[tx] + k
            S[tx] = own[k]
        B[128 + tx] = S[63 - tx]


def in_their_order(a):
    b, t = np.zeros(1024, np.int32), np.arange(64)
    tile = a[(t - 8) % 64 + 8] * 10 + 8
    b[:64] = tile
    b[64:128] = a[t + t % 9] + a[t] + 1 + a[t % 9] + t % 9
    b[128:192] = (tile + 36)[::-1]
    return b


@T.prim_func
def read_early(A: T.Tensor((1024,), "int32"), B: T.Tensor((1024,), "int32")):
    """What is read before others write stays so, although what it is for stands in a sequence with the writes."""
    with T.Kernel(1, threads=16):
        t = T.get_thread_binding()
        S = T.alloc_shared((64,), "int32")
        v, x = T.alloc_var("int32"), T.alloc_local((1,), "int32")
        T.copy(A[0], S)
        B[t] = t + 5
        v = S[t] - B[0]  # a read of the block of what threads wrote: a sequence ends between the two
        S[t * 4] = v * 2
        B[16 + t] = S[63 - t] + v
        other = S[15 - t]
        B[32 + t] = A[t]
        B[48 + t] = B[32 + 15 - t]
        x[0] = other + 1
        S[t] = 0
        B[32 + t] += x[0] + S[t]


def read_before(a):
    b, t = np.zeros(1024, np.int32), np.arange(16)
    tile, v = a[:64].copy(), a[:16] - 5
    tile[t * 4] = v * 2
    b[:16], b[16:32] = t + 5, tile[63 - t] + v
    b[32:48], b[48:64] = a[:16] + tile[15 - t] + 1, a[15 - t]
    return b


@T.prim_func
def one_condition(A: T.Tensor((1024,), "int32"), B: T.Tensor((1024,), "int32")):
    """Branches that follow each other stay apart: threads of the second one read what others wrote in the first one."""
    with T.Kernel(1, threads=128):
        tx = T.get_thread_binding()
        S = T.alloc_shared((64,), "int32")
        goes = tx < 64
        if goes:
            S[tx] = A[tx]
        if goes:
            B[tx] = S[63 - tx]
        if goes:
            S[63 - tx] = A[64 + tx]
        if goes:
            B[64 + tx] = S[tx]


def in_one_order(a):
    b = np.zeros(1024, np.int32)
    b[:64], b[64:128] = a[63::-1], a[127:63:-1]
    return b


CASES = {
    "elements_of_a_fragment_in_statements": (elements, element_by_element),
    "a_statement_is_executed_once_for_each_block": (count, counted),
    "a_branch_on_the_thread": (branch, branched),
    "threads_that_read_what_others_wrote": (scan, np.cumsum),
    "variables_and_arrays_of_threads": (sums, summed),
    "a_variable_of_an_iteration": (variable, varied),
    "loops_of_threads": (loops, looped),
    "what_is_outside_of_an_array_is_not_written": (beyond, kept_inside),
    "elements_of_a_fragment_in_arrays": (handed_out, had_by_all),
    "what_is_found_in_a_fragment_in_arrays": (found, found_by_all),
    "parts_outside_of_an_array_are_not_written": (parts_beyond, parts_inside),
    "statements_of_threads_in_sequence": (sequences, in_sequence),
    "arrays_of_threads_are_kept": (kept, kept_by_each),
    "what_is_read_before_others_write": (read_early, read_before),
    "what_threads_write_in_loops_is_in_order": (in_order, in_their_order),
    "branches_of_one_condition_stay_apart": (one_condition, in_one_order),
}
"""By what they show (semantics S3, S4, P3, M2)."""
