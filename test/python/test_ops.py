"""The functions that build operations, which are made of the definitions: what they write is what the verifiers read.

Each function is called with everything that it takes and with no more than it needs. A count of operands, a word of an
attribute, a type or a region that is not as defined would be an error of the parser.
"""

import importlib.util
import inspect
import re
import sys
from pathlib import Path

import pytest

import tilec.language as T
from tilec import _ops, _tl
from tilec.builder import FunctionBuilder
from tilec.ir import Block
from tilec.location import here
from tilec.types import ScalarType, TensorType

GENERATOR = Path(__file__).parents[2] / "python" / "extension" / "generate_ops.py"


class Values:
    """What operations are built of, in a function or in its kernel."""

    def __init__(self, builder):
        self._builder = builder
        parameters = {"n": "int64", "f": "float32", "b": "bool"}
        for name, dtype in parameters.items():
            setattr(self, name, builder.add_parameter(name, ScalarType(dtype)).value)
        self.A = builder.add_parameter("A", TensorType((8, 8))).value

    def index(self, number=1):
        return self._builder.constant(str(number), "index")

    def i1(self):
        return self._builder.constant("true", "i1")

    def i32(self):
        return self._builder.constant("1", "i32")

    def tile(self, space="shared", shape=(8, 8), dtype="f32"):
        spaces = {"shared": "#gpu.address_space<workgroup>", "fragment": "#tl.fragment"}
        extents = "".join(f"{e}x" for e in shape)
        return _ops.alloc(buffer_type=f"memref<{extents}{dtype}, {spaces[space]}>").results[0]

    def barriers(self):
        barriers = "memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>"
        return self._builder.emit("tl.alloc_barriers", (), [barriers], {"arrivals": "1 : i64"}).results[0]

    def block(self, *, arguments=0, end=None):
        block = Block(self._builder.block, "a block")
        for _ in range(arguments):
            block.add_argument("index")
        with self._builder.inside(block):
            (end or _ops.scf_yield)()
        return block


CASES = {
    "alloc": [
        lambda v: _ops.alloc(buffer_type="memref<4xf32, #gpu.address_space<private>>"),
        lambda v: _ops.alloc(
            buffer_type="memref<8x64xf16, #gpu.address_space<workgroup>>",
            layout="#tl.shared_layout<swizzle = 128, chunk = 64>",
            offset=128,
        ),
    ],
    "assert_": [lambda v: _ops.assert_(v.i1(), text="c", message="why")],  # noqa: PT009
    "atomic": [
        lambda v: _ops.atomic(v.f, v.A, [v.index(), v.index()], kind="add", old_type="f32"),
        lambda v: _ops.atomic(None, v.tile(), [v.index()] * 2, kind="load", old_type="f32", order="acquire"),
        lambda v: _ops.atomic(
            v.i32(),
            v.tile(dtype="i32"),
            [v.index()] * 2,
            v.i32(),
            kind="compare_exchange",
            old_type="i32",
            order="acq_rel",
            scope="system",
            each_thread=True,
        ),
    ],
    "call_source": [
        lambda v: _ops.call_source(
            [v.f],
            function="scale",
            sources=["__device__ float scale(float);"],
            params=["f32"],
            counts=[0],
            place=-1,
            returned="f32",
            result_type="f32",
        ),
        lambda v: _ops.call_source(
            [v.f, v.f],
            v.b,
            function="swap",
            sources=["__device__ void swap(float *);"],
            toolkit="13.0",
            params=["f32"],
            counts=[2],
            place=1,
            result_type="f32",
        ),
    ],
    "cluster_arrive": [lambda v: _ops.cluster_arrive()],
    "cluster_barrier": [lambda v: _ops.cluster_barrier()],
    "cluster_wait": [lambda v: _ops.cluster_wait()],
    "copy": [
        lambda v: _ops.copy(v.A, (), v.tile(), tile=(8, 8)),
        lambda v: _ops.copy(v.A, [v.index(), v.index(2)], v.tile(), tile=[4, 8]),
        lambda v: _ops.copy(v.tile(), (), v.A, [v.index(), v.index()], tile=[4, 4], async_=True, bulk=True),
        lambda v: _ops.copy(
            v.A, [v.index()] * 2, v.tile(), [v.index()] * 2, v.barriers(), v.index(0), tile=[4], async_=True, bulk=True
        ),
    ],
    "fill": [lambda v: _ops.fill(v.tile(), v.f)],
    "gemm": [
        lambda v: _ops.gemm(v.tile(), v.tile(), v.tile("fragment")),
        lambda v: _ops.gemm(
            v.tile(), v.tile(), v.tile("fragment"), policy="full_row", transpose_a=True, transpose_b=True, async_=True
        ),
        lambda v: _ops.gemm(
            v.tile("shared", (8, 16)),
            v.tile("shared", (24, 8)),
            v.tile("fragment", (8, 8)),
            a_at=(0, 8),
            b_at=(16, 0),
            depth=8,
        ),
    ],
    "kernel": [],
    "load": [
        lambda v: _ops.load(v.A, [v.index(), v.index()], result_type="f32"),
        lambda v: _ops.load(v.tile("shared", ()), result_type="f32"),
    ],
    "map_shared_rank": [lambda v: _ops.map_shared_rank(v.tile(), v.index())],
    "parallel": [lambda v: _ops.parallel(extents=[4, 4], body=v.block(arguments=2, end=_ops.yield_))],
    "pipelined": [lambda v: _ops.pipelined(v.index(), v.index(), stages=3, body=v.block(arguments=1, end=_ops.yield_))],
    "print": [
        lambda v: _ops.print(message="here"),
        lambda v: _ops.print(
            v.tile(),
            [v.index()] * 2,
            message="",
            name="S",
            dtype="float32",
            tile=[1, 4],
            shown=[4],
            stop=True,
            last=True,
            layout=True,
        ),
    ],
    "reduce": [
        lambda v: _ops.reduce(v.tile("fragment"), v.tile("fragment", (8,)), kind="sum", dim=1),
        lambda v: _ops.reduce(
            v.tile("fragment"), v.tile("fragment", (8,)), v.tile("shared", (8,)), kind="absmax", dim=0, accumulate=True
        ),
    ],
    "vote": [lambda v: _ops.vote(v.tile("fragment", (8,), "i32"), v.tile("fragment", (8,), "i32"))],
    "scan": [
        lambda v: _ops.scan(v.tile("fragment"), v.tile("fragment"), kind="sum", dim=1),
        lambda v: _ops.scan(v.tile("fragment"), v.tile("fragment"), v.tile("shared"), kind="max", dim=0, reverse=True),
    ],
    "shuffle": [
        lambda v: _ops.shuffle(v.tile("fragment", (8,)), v.tile("fragment", (8,), "i32"), v.tile("fragment", (8,)))
    ],
    "slot": [lambda v: _ops.slot(v.tile(), v.index(), view_type="memref<8xf32, #gpu.address_space<workgroup>>")],
    "source_kernel": [],
    "store": [
        lambda v: _ops.store(v.f, v.A, [v.index(), v.index()]),
        lambda v: _ops.store(v.f, v.tile("shared", ())),
    ],
    "cut": [lambda v: _ops.cut(v.tile(), v.index(), v.index(8), kind="at_most", dimension=1)],
    "tensor_at": [
        lambda v: _ops.tensor_at(v.n, alignment=16, tensor_type="memref<64xf32>"),
        lambda v: _ops.tensor_at(
            v.n,
            [v.index(64)],
            [v.n],
            alignment=4,
            tensor_type="memref<?x64xf32, strided<[?, 1]>>",
        ),
    ],
    "yield_": [],
    "arith_cmpf": [
        *(lambda v, p=p: _ops.arith_cmpf(v.f, v.f, predicate=p) for p in _ops._CMP_F_PREDICATE),
        lambda v: _ops.arith_cmpf(v.f, v.f, predicate="olt", fastmath="nnan,ninf"),
    ],
    "arith_cmpi": [lambda v, p=p: _ops.arith_cmpi(v.n, v.n, predicate=p) for p in _ops._CMP_I_PREDICATE],
    "arith_select": [lambda v: _ops.arith_select(v.b, v.f, v.f)],
    "gpu_barrier": [lambda v: _ops.gpu_barrier()],
    "gpu_thread_id": [
        *(lambda v, d=d: _ops.gpu_thread_id(dimension=d) for d in "xyz"),
        lambda v: _ops.gpu_thread_id(dimension="x", upper_bound="128 : index"),
    ],
    "scf_condition": [],
    "scf_for": [
        lambda v: _ops.scf_for(v.index(), v.index(), v.index(), region=v.block(arguments=1)),
        lambda v: _ops.scf_for(v.index(), v.index(), v.index(), region=v.block(arguments=1), unsigned_cmp=True),
        lambda v: _ops.scf_for(
            v.index(),
            v.index(),
            v.index(),
            [v.index()],
            region=v.block(arguments=2, end=lambda: _ops.scf_yield([v.index()])),
            result_types=["index"],
        ),
    ],
    "scf_if": [
        lambda v: _ops.scf_if(v.i1(), then_region=v.block(), else_region=v.block()),
        lambda v: _ops.scf_if(
            v.i1(),
            then_region=v.block(end=lambda: _ops.scf_yield([v.f])),
            else_region=v.block(end=lambda: _ops.scf_yield([v.f])),
            result_types=["f32"],
        ),
    ],
    "scf_while": [
        lambda v: _ops.scf_while(before=v.block(end=lambda: _ops.scf_condition(v.i1())), after=v.block()),
        lambda v: _ops.scf_while(
            [v.index()],
            before=v.block(arguments=1, end=lambda: _ops.scf_condition(v.i1(), [v.index()])),
            after=v.block(arguments=1, end=lambda: _ops.scf_yield([v.index()])),
            result_types=["index"],
        ),
    ],
    "scf_yield": [],
}
"""For each function calls of it; those without are called by others, or belong outside of a kernel."""

OUTSIDE = {
    "kernel": lambda v: _ops.kernel(
        [v.index(), v.index()],
        threads=[32, 4],
        cluster=[2, 1],
        name="named",
        body=v.block(arguments=2, end=_ops.yield_),
    ),
    "source_kernel": lambda v: _ops.source_kernel(
        [v.index()],
        v.index(0),
        [v.A, v.n],
        [v.A],
        sources=['#tl.cuda_source<"__global__ void k(float*, long) {}">'],
        block=[32],
        entry="k",
        prelude="// first",
        flags=["-DN=4"],
        include_paths=["include"],
        headers="{}",
        toolkit="13.0",
        uncached="a reason",
        cluster=[1],
        cooperative=True,
        dependent=True,
        params=["#tl.param<base, 0>", "#tl.param<scalar, 1, type = i64>"],
        symbols=["table"],
    ),
    "least source_kernel": lambda v: _ops.source_kernel(
        [v.index()], sources=['#tl.cuda_source<"__global__ void k() {}">'], block=[32]
    ),
}


def functions():
    return {
        name: function
        for name, function in vars(_ops).items()
        if inspect.isfunction(function) and function.__module__ == _ops.__name__
    }


def build(make, *, in_kernel):
    """Returns the text of a function with what `make` builds, and what the parser says of it."""
    builder = FunctionBuilder("function", location=here())
    with builder.active():
        values = Values(builder)
        if in_kernel:
            with T.Kernel(1):
                make(values)
        else:
            make(values)
        function = builder.finish()
    module, messages = _tl.parse(function.text, "function.mlir")
    return function.script(), module, messages


def test_every_function_is_tried():
    assert CASES.keys() == functions().keys()


@pytest.mark.parametrize(
    ("name", "number"), [(name, i) for name, calls in CASES.items() for i in range(len(calls))], ids=str
)
def test_what_they_write_is_read(name, number):
    text, module, messages = build(CASES[name][number], in_kernel=True)
    op = re.sub("^(arith|gpu|scf)_", r"\1.", name.removesuffix("_"))
    assert f'"{op if "." in op else f"tl.{op}"}"' in text
    assert module is not None, messages


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_they_write_outside_of_kernels_is_read(name):
    _, module, messages = build(OUTSIDE[name], in_kernel=False)
    assert module is not None, messages


def test_every_parameter_is_tried(monkeypatch):
    """All but those that only the compiler sets."""
    missing = {
        "copy": {"accumulate", "multicast", "places", "round_tf32"},
        "gemm": {"narrow_a", "narrow_b", "plan"},
        "parallel": {"layout"},
    }
    untried = {}
    for name, function in functions().items():
        parameters = inspect.signature(function).parameters
        untried[name] = parameters.keys() - missing.get(name, set()) - {"attributes", "location"}

        def note(*args, _name=name, _function=function, _parameters=tuple(parameters), **keywords):
            untried[_name] -= {*keywords, *_parameters[: len(args)]}
            return _function(*args, **keywords)

        monkeypatch.setattr(_ops, name, note)
    for calls in CASES.values():
        for call in calls:
            build(call, in_kernel=True)
    for call in OUTSIDE.values():
        build(call, in_kernel=False)
    assert not any(untried.values()), untried


def test_the_definitions_are_refused_if_they_do_not_say_how_many_operands_there_are():
    generator = load_generator()
    variadic = {"!name": "V", "!superclasses": ["TypeConstraint", "Variadic"]}
    op = {
        "opName": "two",
        "opDialect": {"def": "D"},
        "summary": "",
        "arguments": {"args": [[{"def": "V"}, "first"], [{"def": "V"}, "second"]]},
        "results": {"args": []},
        "regions": {"args": []},
        "traits": [],
    }
    records = {"V": variadic, "D": {"name": "tl"}, "Two": op, "FrontEnd": {"ops": [{"def": "Two"}]}}
    with pytest.raises(ValueError, match=r"`tl.two`: nothing says how many operands there are of each kind"):
        generator.Generator(generator.Definitions(records)).module()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sourceOffsets", "source_offsets"),
        ("async", "async_"),
        ("include_paths", "include_paths"),
        ("transposeA", "transpose_a"),
    ],
)
def test_names(name, expected):
    assert load_generator().python_name(name) == expected


def load_generator():
    specification = importlib.util.spec_from_file_location("generate_ops", GENERATOR)
    module = sys.modules[specification.name] = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module
