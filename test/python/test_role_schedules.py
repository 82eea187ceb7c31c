"""Schedules of roles: `T.annotate_ws_schedule` and its kin, hints that change nothing (semantics S8)."""

import warnings

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec.errors import IgnoredHintWarning, TLError

ROLES = [T.WSRole("load", warps_lo=0, warps_hi=1, max_nreg=40), T.WSRole("compute", warps_lo=4, warps_hi=8)]


def bodies(stages):
    fill = [T.WSSync.producer_acquire("input"), "load_a", T.WSOpRef("load_b"), T.WSSync.producer_commit("input")]
    read = [
        T.WSSync.consumer_wait("input", stage=stages - 1),
        "product",
        T.WSSync.consumer_release("input", stage=stages - 1),
    ]
    return {"load": fill, "compute": read}


def schedule_of(*tiles, stages=3):
    return T.WSSchedule(
        num_warps=8,
        roles=ROLES,
        pipelines=[T.WSPipeline("input", tiles, depth=stages)],
        scopes=[
            T.WSScope("steps", bodies(stages)),
            T.WSScope(T.WSScope.ROOT, {"load": ["tile", "steps"], "compute": ["zero", "tile", "steps", "store"]}),
        ],
    )


def multiply(schedule):
    @T.prim_func
    def f(A: T.Tensor((128, 192), "float16"), B: T.Tensor((192, 64), "float16"), C: T.Tensor((128, 64), "float32")):
        with T.Kernel(2, threads=128) as b:
            As, Bs = T.alloc_shared((64, 32), "float16"), T.alloc_shared((32, 64), "float16")
            acc = T.alloc_fragment((64, 64), "float32")
            if schedule:
                T.annotate_ws_schedule(schedule(As, Bs))
            with T.ws_op("tile"):
                row = b * 64
            T.clear(acc, annotations={T.WSID: "zero"})
            for k in T.Pipelined(6, num_stages=3, annotations={T.WSID: "steps"}):
                T.copy(A[row, k * 32], As, annotations={T.WSID: "load_a"})
                T.copy(B[k * 32, 0], Bs, annotations={T.WSID: "load_b"})
                T.gemm(As, Bs, acc, annotations={T.WSID: "product"})
            T.copy(acc, C[row, 0], annotations={T.WSID: "store"})

    return f


def test_it_is_a_hint():
    with pytest.warns(IgnoredHintWarning, match="`T.annotate_ws_schedule` has no counterpart here"):
        scheduled = multiply(schedule_of)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = multiply(None)
    assert scheduled.script() == plain.script()


@pytest.mark.parametrize(("target", "backend"), [("cpu", "auto"), ("sm_90a", "sim")])
def test_the_kernel_means_what_it_says(target, backend):
    random = np.random.default_rng(0)
    a, b = (random.integers(-3, 4, shape).astype(np.float16) for shape in ((128, 192), (192, 64)))
    c = np.full((128, 64), np.nan, np.float32)
    tilec.compile(multiply(schedule_of), target=target, backend=backend)(a, b, c)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


def test_names_that_no_statement_has():
    def other(As, Bs):
        return T.WSSchedule(8, ROLES, [], [T.WSScope(T.WSScope.ROOT, {"load": ["stepss"]})])

    with pytest.raises(TLError, match=r"the schedule names `stepss`, and no statement has that name.*`steps`"):
        multiply(other)


def test_one_schedule():
    with pytest.raises(TLError, match="this is the second one"):

        @T.prim_func
        def f(A: T.Tensor((4,), "int32")):
            with T.Kernel(1, threads=32):
                T.annotate_ws_schedule(T.WSSchedule(4, [], [], []))
                T.annotate_ws_schedule(T.WSSchedule(4, [], [], []))
                A[0] = 1


def body(*steps):
    return lambda: T.WSSchedule(8, ROLES, [T.WSPipeline("p", [], 2)], [T.WSScope("s", {"load": list(steps)})])


acquire, commit = T.WSSync.producer_acquire, T.WSSync.producer_commit
wait, release = T.WSSync.consumer_wait, T.WSSync.consumer_release

MISTAKES = {
    "`warps_hi` of role `a` is an integer of 3 or more": lambda: T.WSRole("a", warps_lo=2, warps_hi=2),
    "`max_nreg` of role `a` is 255 at most": lambda: T.WSRole("a", warps_lo=0, warps_hi=2, max_nreg=256),
    "a multiple of 4, not 6": lambda: T.WSSchedule(6, [], [], []),
    "ends at warp 8, and there are 4": lambda: T.WSSchedule(4, ROLES, [], []),
    "`load` and `b` both have warp 0": lambda: T.WSSchedule(
        8, [ROLES[0], T.WSRole("b", warps_lo=0, warps_hi=2)], [], []
    ),
    "two roles of a `T.WSSchedule` are called `load`": lambda: T.WSSchedule(8, [ROLES[0], ROLES[0]], [], []),
    "tiles on the chip, not of `3`": lambda: T.WSPipeline("p", [3], 2),
    "`depth` of pipeline `p` is an integer of 1 or more": lambda: T.WSPipeline("p", [], 0),
    "a body for role `store`": lambda: T.WSSchedule(8, ROLES, [], [T.WSScope("s", {"store": []})]),
    "names pipeline `q`, which the schedule does not have": body(acquire("q"), commit("q")),
    "nothing ends T.WSSync": body(acquire("p"), "x"),
    "ends nothing that was begun at its stage": body(wait("p", 1), release("p", 2)),
    "and not by what ends it": body(acquire("p"), wait("p")),
    "does `T.WSOpRef`s and `T.WSSync`s, not `3`": body(3),
    "`kind` of `T.WSSync` is a `T.WSSyncKind`": lambda: T.WSSync("acquire", "p"),
}


@pytest.mark.parametrize("message", MISTAKES)
def test_mistakes(message):
    with pytest.raises(TLError, match=message):
        MISTAKES[message]()


def test_what_needs_a_kernel():
    with pytest.raises(TLError):
        T.annotate_ws_schedule(T.WSSchedule(4, [], [], []))
    with pytest.raises(TLError):
        T.ws_op("x")


@pytest.mark.parametrize("kind", T.WSSyncKind)
def test_steps_by_their_kind(kind):
    made = getattr(T.WSSync, kind.value)("input", stage=2)
    assert isinstance(made, T.WSInstr)
    assert repr(made) == repr(T.WSSync(kind, "input", 2)) == f"T.WSSync(T.WSSyncKind.{kind.name}, 'input', stage=2)"
