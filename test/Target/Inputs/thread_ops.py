"""Gives each generator each thread-level op, and compares what it takes with the table.

    thread_ops.py ThreadOps.def tl-opt

Every op of the table has an example here, in a kernel of its own, in a form that a
pass makes. An op that a generator takes in the table and refuses here, or the
other way round, is an error; so are examples of ops that the table does not have.
"""

import pathlib
import re
import subprocess
import sys

GENERATORS = {
    "PTX": "convert-tl-to-nvvm,canonicalize,cse,tl-emit-ptx",
    "CUDA": "tl-emit-cuda",
    "CuTeDSL": "tl-emit-cutedsl",
}
TAKEN_BY = {"All": {"PTX", "CUDA", "CuTeDSL"}, "Native": {"PTX", "CUDA"}, "CUDAOnly": {"CUDA"}, "Simulator": set()}

# Values that examples may use; those that are not used disappear.
PROLOGUE = """
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %s = tl.shared_base : !llvm.ptr<3>
    %q = llvm.getelementptr %p[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
    %n = llvm.load %p : !llvm.ptr<1> -> i32
    %m = llvm.load %q : !llvm.ptr<1> -> i32
    %i = arith.index_cast %n : i32 to index
    %t = arith.cmpi slt, %n, %m : i32
    %x = llvm.load %p : !llvm.ptr<1> -> f32
    %y = llvm.load %q : !llvm.ptr<1> -> f32
    %v = llvm.load %p : !llvm.ptr<1> -> vector<4xf32>
    %w = llvm.load %p : !llvm.ptr<1> -> vector<4xi32>
"""


INTEGERS = (
    "addi andi ceildivsi ceildivui divsi divui floordivsi maxsi maxui minsi minui muli ori remsi remui shli shrsi "
    "shrui subi xori"
)
FLOATS = "addf divf maximumf maxnumf minimumf minnumf mulf remf subf"
FUNCTIONS = (
    "absf acos acosh asin asinh atan atanh cbrt ceil cos cosh erf exp exp2 expm1 floor log log10 log1p log2 round "
    "roundeven rsqrt sin sinh sqrt tan tanh trunc"
)
SLICE = "{offsets = [2], sizes = [2], strides = [1]}"


def store(value, kind):
    """An example that gives `%r`, and a store of it, so that it stays."""
    return f"{value}\n    llvm.store %r, %p : {kind}, !llvm.ptr<1>"


def examples():
    ops = {}

    def value(names, text, kind, dialect=""):
        for name in names.split():
            ops[dialect + name] = store(f"%r = {dialect}{name} {text}", kind)

    def statement(name, text=""):
        ops[name] = f"{name} {text}"

    value(INTEGERS, "%n, %m : i32", "i32", "arith.")
    value(FLOATS, "%x, %y : f32", "f32", "arith.")
    value("arith.negf", "%x : f32", "f32")
    value("arith.bitcast", "%x : f32 to i32", "i32")
    value("arith.extf", "%x : f32 to f64", "f64")
    value("arith.truncf", "%x : f32 to f16", "f16")
    value("arith.extsi arith.extui", "%n : i32 to i64", "i64")
    value("arith.trunci", "%n : i32 to i16", "i16")
    value("arith.fptosi arith.fptoui", "%x : f32 to i32", "i32")
    value("arith.sitofp arith.uitofp", "%n : i32 to f32", "f32")
    value("arith.index_cast arith.index_castui", "%i : index to i64", "i64")
    value("arith.select", "%t, %n, %m : i32", "i32")
    value("arith.constant", "3 : i32", "i32")
    for name, text in (("cmpi", "slt, %n, %m : i32"), ("cmpf", "olt, %x, %y : f32")):
        ops[f"arith.{name}"] = store(f"%b = arith.{name} {text}\n    %r = arith.select %b, %n, %m : i32", "i32")
    for name in ("mulsi_extended", "mului_extended"):
        ops[f"arith.{name}"] = store(f"%low, %r = arith.{name} %n, %m : i32", "i32")
    ops["arith.addui_extended"] = store(
        "%sum, %over = arith.addui_extended %n, %m : i32, i1\n    %r = arith.select %over, %sum, %m : i32", "i32"
    )

    value(FUNCTIONS, "%x : f32", "f32", "math.")
    value("math.atan2 math.copysign math.powf", "%x, %y : f32", "f32")
    value("math.fma", "%x, %y, %x : f32", "f32")
    value("math.absi math.ctlz math.ctpop math.cttz", "%n : i32", "i32")
    value("math.fpowi", "%x, %c32 : f32, i32", "f32")
    for name in ("isfinite", "isnan"):
        ops[f"math.{name}"] = store(f"%b = math.{name} %x : f32\n    %r = arith.select %b, %n, %m : i32", "i32")

    ops["tl.call_source"] = store(
        '%r = tl.call_source "f" of ["__device__ float f(float x) { return x; }"] (%x) '
        "{counts = array<i64: 0>, params = [f32], place = -1 : i64, returned = f32} : (f32) -> f32",
        "f32",
    )

    value("vector.bitcast", "%v : vector<4xf32> to vector<8xf16>", "vector<8xf16>")
    value("vector.broadcast", "%x : f32 to vector<4xf32>", "vector<4xf32>")
    value("vector.extract", "%v[1] : f32 from vector<4xf32>", "f32")
    value("vector.extract_strided_slice", f"%v {SLICE} : vector<4xf32> to vector<2xf32>", "vector<2xf32>")
    value("vector.from_elements", "%x, %y : vector<2xf32>", "vector<2xf32>")
    value("vector.insert", "%x, %v [1] : f32 into vector<4xf32>", "vector<4xf32>")
    ops["vector.insert_strided_slice"] = store(
        f"%part = vector.extract_strided_slice %v {SLICE} : vector<4xf32> to vector<2xf32>\n"
        "    %r = vector.insert_strided_slice %part, %v {offsets = [0], strides = [1]} "
        ": vector<2xf32> into vector<4xf32>",
        "vector<4xf32>",
    )
    value("vector.shuffle", "%v, %v [3, 2, 1, 0] : vector<4xf32>, vector<4xf32>", "vector<4xf32>")
    ops["vector.to_elements"] = store("%r, %e:3 = vector.to_elements %v : vector<4xf32>", "f32")

    for name in ("gpu.func", "gpu.module", "gpu.return", "llvm.load", "llvm.store"):
        ops[name] = ""
    ops["scf.for"] = ops["scf.yield"] = store(
        "%r = scf.for %k = %c0 to %n step %c1 iter_args(%a = %m) -> (i32) : i32 {\n"
        "      %next = arith.addi %a, %k : i32\n      scf.yield %next : i32\n    }",
        "i32",
    )
    ops["scf.if"] = "scf.if %t {\n      llvm.store %n, %p : i32, !llvm.ptr<1>\n    }"
    ops["scf.while"] = ops["scf.condition"] = store(
        "%r = scf.while (%a = %n) : (i32) -> i32 {\n      %go = arith.cmpi slt, %a, %m : i32\n"
        "      scf.condition(%go) %a : i32\n    } do {\n    ^bb0(%b: i32):\n"
        "      %next = arith.addi %b, %c1 : i32\n      scf.yield %next : i32\n    }",
        "i32",
    )

    ops["llvm.alloca"] = store(
        "%a = llvm.alloca %c32 x f32 : (i32) -> !llvm.ptr\n"
        "    %at = llvm.getelementptr %a[%n] : (!llvm.ptr, i32) -> !llvm.ptr, f32\n"
        "    llvm.store %x, %at : f32, !llvm.ptr\n    %r = llvm.load %a : !llvm.ptr -> f32",
        "f32",
    )
    ops["llvm.getelementptr"] = (
        "%at = llvm.getelementptr %p[%n] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32\n"
        "    llvm.store %x, %at : f32, !llvm.ptr<1>"
    )
    ops["tl.device_pointer"] = (
        "%wide = arith.extsi %n : i32 to i64\n    %at = tl.device_pointer %wide bytes(%wide) : !llvm.ptr<1>\n"
        "    llvm.store %x, %at : f32, !llvm.ptr<1>"
    )
    value("llvm.ptrtoint", "%s : !llvm.ptr<3> to i32", "i32")
    ops["llvm.addrspacecast"] = (
        "%mask = arith.constant 3 : i16\n    %at = llvm.addrspacecast %s : !llvm.ptr<3> to !llvm.ptr<7>\n"
        "    nvvm.cp.async.bulk.tensor.shared.cluster.global %at, %map, %s, box[%c0, %c1] multicast_mask = %mask"
        " : !llvm.ptr<7>, !llvm.ptr"
    )
    ops["nvvm.mapa"] = (
        "%at = nvvm.mapa %s, %c1 : !llvm.ptr<3> -> !llvm.ptr<7>\n    nvvm.mbarrier.arrive %at : !llvm.ptr<7>"
    )
    ops["tl.atom"] = store("%r = tl.atom add %p, %x order(acq_rel) : !llvm.ptr<1>, f32", "f32")
    ops["tl.shared_base"] = store("%r = llvm.load %s : !llvm.ptr<3> -> f32", "f32")

    for name in ("block_id", "grid_dim", "thread_id"):
        ops[f"gpu.{name}"] = store(f"%id = gpu.{name} x\n    %r = arith.index_cast %id : index to i32", "i32")
    ops["gpu.shuffle"] = store("%r, %in = gpu.shuffle xor %x, %c1, %c32 : f32", "f32")
    ops["tl.mma_f64"] = store(
        "%da = llvm.load %p : !llvm.ptr<1> -> vector<2xf64>\n    %db = llvm.load %p : !llvm.ptr<1> -> f64\n"
        "    %dc = llvm.load %p : !llvm.ptr<1> -> vector<4xf64>\n"
        "    %r = tl.mma_f64 %da, %db, %dc : vector<2xf64>, vector<4xf64>",
        "vector<4xf64>",
    )
    ops["nvvm.vote.sync"] = store(
        "%all = arith.constant -1 : i32\n    %r = nvvm.vote.sync ballot %all, %t -> i32", "i32"
    )
    statement("gpu.barrier")
    statement("nvvm.bar.warp.sync", "%c32 : i32")
    statement("nvvm.barrier", "id = %c1 number_of_threads = %c32")
    statement("nvvm.barrier.arrive", "id = %c1 number_of_threads = %c32")
    statement("nvvm.cluster.arrive")
    statement("nvvm.cluster.wait")
    statement("nvvm.setmaxregister", "decrease 24")
    statement("nvvm.fence.mbarrier.init")
    statement("nvvm.griddepcontrol", "wait")
    statement("nvvm.prefetch", "tensormap, %map : !llvm.ptr")
    statement("nvvm.fence.proxy", "{kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}")
    ops["nvvm.mbarrier.arrive"] = "%state = nvvm.mbarrier.arrive %s : !llvm.ptr<3> -> i64"
    statement("nvvm.mbarrier.arrive.expect_tx", "%s, %c32 : !llvm.ptr<3>, i32")
    statement("nvvm.mbarrier.init", "%s, %c1 : !llvm.ptr<3>, i32")
    statement("nvvm.mbarrier.try_wait.parity", "%s, %c0, %c32 : !llvm.ptr<3>, i32, i32")
    statement("nvvm.cp.async.bulk.commit.group")
    statement("nvvm.cp.async.bulk.wait_group", "0 {read}")
    box = "box[%c0, %c1]"
    statement("nvvm.cp.async.bulk.tensor.global.shared.cta", f"%map, %s, {box} : !llvm.ptr, !llvm.ptr<3>")
    statement(
        "nvvm.cp.async.bulk.tensor.reduce",
        f"%map, %s, {box} {{redKind = #nvvm.tma_redux_kind<add>}} : !llvm.ptr, !llvm.ptr<3>",
    )
    statement(
        "nvvm.cp.async.bulk.tensor.shared.cluster.global",
        f"%s, %map, %s, {box} {{isCTAOnly = true}} : !llvm.ptr<3>, !llvm.ptr",
    )
    statement("nvvm.cp.async.commit.group")
    statement("nvvm.cp.async.shared.global", "%s, %p, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>")
    statement("nvvm.cp.async.wait.group", "1")

    statement("tl.at_iterations", "%i")
    statement("tl.begin_iterations", "[64]")
    statement("tl.touch_fragment", '"x" 0[%i] {tl.iterations = array<i64: 0>}')

    value("tl.ldmatrix", "%s : !llvm.ptr<3> -> vector<4xi32>", "vector<4xi32>")
    ops["tl.mma"] = store(
        f"%b = vector.extract_strided_slice %w {SLICE} : vector<4xi32> to vector<2xi32>\n"
        "    %r = tl.mma bf16 %w, %b, %v : vector<4xi32>, vector<2xi32>, vector<4xf32>",
        "vector<4xf32>",
    )
    statement("tl.stmatrix", "%w, %s : vector<4xi32>, !llvm.ptr<3>")
    product = (
        "%d = arith.extui %n : i32 to i64\n    %acc = arith.constant dense<0.0> : vector<4xf32>\n"
        "    %sum = tl.wgmma bf16 n(8) %d, %d, %acc acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<4xf32>\n"
        "    %r = tl.wgmma_wait 0 (%sum : vector<4xf32>)"
    )
    ops["tl.wgmma"] = ops["tl.wgmma_wait"] = store(product, "vector<4xf32>")
    return ops


def module(name, body):
    param = ", box = [64, 128], swizzle = 128, type = f16"
    tensor_map = f"%map: !llvm.ptr {{tl.param = #tl.param<tensor_map, 1{param}>}}" if "%map" in body else ""
    arguments = ", ".join(filter(None, ["%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}", tensor_map]))
    symbol = name.replace(".", "_")
    return (
        f'gpu.module @{symbol} attributes {{tl.target = #tl.target<chip = "sm_90a">}} {{\n'
        f"  gpu.func @{symbol}({arguments}) kernel\n"
        f"      attributes {{known_block_size = array<i32: 128, 1, 1>, tl.shared = 1024 : i64}} {{{PROLOGUE}"
        f"    {body}\n    gpu.return\n  }}\n}}\n"
    )


# Kernels that are text have no generator.
TEXT = {"tl.cuda_entry", "tl.cuda_unit"}


def main(table, tl_opt):
    rows = re.findall(r'^THREAD_OP\("([^"]+)", +\w+, +\w+, +\w+, +(\w+)\)', pathlib.Path(table).read_text(), re.M)
    known = {name: TAKEN_BY[generators] for name, generators in rows if name not in TEXT}
    ops = examples()
    problems = [f"{name}: no example" for name in known.keys() - ops.keys()]
    problems += [f"{name}: not in the table" for name in ops.keys() - known.keys()]
    text = "\n// -----\n\n".join(module(name, body) for name, body in sorted(ops.items()))
    for generator, passes in GENERATORS.items():
        pipeline = f"builtin.module(gpu.module({passes}))"
        # Modules that fail leave an error and no output.
        result = subprocess.run(
            [tl_opt, "-", "--split-input-file", f"--pass-pipeline={pipeline}"],
            input=text,
            capture_output=True,
            text=True,
        )
        done = set(re.findall(r"^ *gpu\.module @(\w+)", result.stdout, re.M))
        for name in sorted(ops.keys() & known.keys()):
            taken = name.replace(".", "_") in done
            if taken != (generator in known[name]):
                problems.append(f"{generator}: {name}: {'taken' if taken else 'refused'}, unlike the table says")
    print("\n".join(problems))
    return 1 if problems else 0


sys.exit(main(*sys.argv[1:]))
