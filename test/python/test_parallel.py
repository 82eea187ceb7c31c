"""Bodies of `T.Parallel` on the CPU."""

import numpy as np
import pytest

import tilec
import tilec.language as T
from parallel_bodies import CASES


@pytest.mark.parametrize("name", CASES)
def test_body(name):
    case = CASES[name](np.random.default_rng(0))
    tilec.compile(case.program, target="cpu")(*case.arguments)
    arrays = [a for a in case.arguments if isinstance(a, np.ndarray)]
    for found, expected in zip(arrays, case.expected, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", CASES)
def test_what_the_cpu_takes_a_gpu_takes(name, chip):
    case = CASES[name](np.random.default_rng(0))
    tilec.compile(case.program, target=chip, assembler="none")


@pytest.mark.parametrize("name", [n for n in CASES if "read_one_element" in n])
def test_neighbours_that_read_one_element_on_the_simulator(name):
    case = CASES[name](np.random.default_rng(0))
    tilec.compile(case.program, target="sm_90a", backend="sim")(*case.arguments)
    for found, expected in zip([a for a in case.arguments if isinstance(a, np.ndarray)], case.expected, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_packed_numbers_are_unpacked_in_vectors():
    @T.prim_func
    def main(W: T.Tensor((64, 32), "uint8"), B: T.Tensor((64, 64), "float16")):
        with T.Kernel(1, threads=64):
            packed, unpacked = T.alloc_shared((64, 32), "uint8"), T.alloc_shared((64, 64), "float16")
            T.copy(W, packed)
            for i, j in T.Parallel(64, 64):
                bits = T.cast(packed[i, j // 2] >> T.cast(j % 2 * 4, "uint8"), "uint16") & 15
                unpacked[i, j] = T.reinterpret(bits | 0x6400, "float16") - 1032
            T.copy(unpacked, B)

    ptx = tilec.compile(main, target="sm_90a", assembler="none").get_ptx()
    assert "ld.shared.b32" in ptx
    assert "st.shared.v4" in ptx
    assert "ld.shared.b8" not in ptx
