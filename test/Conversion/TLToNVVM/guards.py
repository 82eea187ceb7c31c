"""Prints a kernel whose accesses stand in guards, for the tests of what becomes of them: `guards.py COUNT`.

The guard of element i is i < n. Of each of COUNT elements a float is loaded, and stored twice as much. Then come guards
of other types, and some that do more than one access.
"""

import sys

OTHERS = """
    %halves = scf.if %p0 -> (vector<8xf16>) {
      %x = llvm.load %a {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xf16>
      scf.yield %x : vector<8xf16>
    } else {
      %z = arith.constant dense<0.0> : vector<8xf16>
      scf.yield %z : vector<8xf16>
    }
    scf.if %p1 {
      llvm.store %halves, %b {alignment = 16 : i64} : vector<8xf16>, !llvm.ptr<1>
    }
    %byte = scf.if %p1 -> (i8) {
      %x = llvm.load %a {alignment = 1 : i64} : !llvm.ptr<1> -> i8
      scf.yield %x : i8
    } else {
      %z = arith.constant 0 : i8
      scf.yield %z : i8
    }
    scf.if %p0 {
      llvm.store %byte, %b {alignment = 1 : i64} : i8, !llvm.ptr<1>
    }
    %double = scf.if %p1 -> (f64) {
      %x = llvm.load %s {alignment = 8 : i64} : !llvm.ptr<3> -> f64
      scf.yield %x : f64
    } else {
      %z = arith.constant 0.0 : f64
      scf.yield %z : f64
    }
    scf.if %p0 {
      llvm.store %double, %s {alignment = 8 : i64} : f64, !llvm.ptr<3>
    }
    %one = scf.if %p0 -> (i32) {
      %x = llvm.load %a {alignment = 4 : i64} : !llvm.ptr<1> -> i32
      scf.yield %x : i32
    } else {
      %z = arith.constant 1 : i32
      scf.yield %z : i32
    }
    scf.if %p1 {
      llvm.store %one, %b {alignment = 4 : i64} : i32, !llvm.ptr<1>
      llvm.store %n, %b {alignment = 4 : i64} : i32, !llvm.ptr<1>
    }
    scf.if %p0 {
      %d = arith.divui %one, %n : i32
      llvm.store %d, %b {alignment = 4 : i64} : i32, !llvm.ptr<1>
    }
    scf.if %p1 {
      llvm.store volatile %n, %b {alignment = 4 : i64} : i32, !llvm.ptr<1>
    }"""


def main(count):
    print("""gpu.module @guards attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @guards(
      %a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %b: !llvm.ptr<1> {tl.param = #tl.param<base, 1>},
      %s: !llvm.ptr<3> {tl.param = #tl.param<base, 2>}, %n: i32 {tl.param = #tl.param<base, 3>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {""")
    for i in range(count):
        print(f"""    %i{i} = arith.constant {i} : i32
    %p{i} = arith.cmpi ult, %i{i}, %n : i32
    %x{i} = scf.if %p{i} -> (f32) {{
      %from = llvm.getelementptr %a[%i{i}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      %x = llvm.load %from {{alignment = 4 : i64}} : !llvm.ptr<1> -> f32
      scf.yield %x : f32
    }} else {{
      %zero = arith.constant 0.0 : f32
      scf.yield %zero : f32
    }}
    %y{i} = arith.addf %x{i}, %x{i} : f32
    scf.if %p{i} {{
      %to = llvm.getelementptr %b[%i{i}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      llvm.store %y{i}, %to {{alignment = 4 : i64}} : f32, !llvm.ptr<1>
    }}""")
    print(OTHERS, "    gpu.return", "  }", "}", sep="\n")


main(int(sys.argv[1]))
