"""Prints a kernel that loads an even element for each of `n` numbers of a table, and odd ones for `n` others.

No two of them are neighbours for sure. Numbers are loaded in pairs, in whose place vectors are made halfway, by the
store: places are to be told apart by values, of which none may be taken for one that was there before.
"""

import sys


def load(i, odd):
    print(f"    %e{i} = arith.extsi %v{i} : i32 to i64")
    print(f"    %m{i} = arith.muli %e{i}, %two : i64")
    if odd:
        print(f"    %n{i} = arith.addi %m{i}, %one : i64")
    place = f"%n{i}" if odd else f"%m{i}"
    print(f"    %g{i} = llvm.getelementptr %p[{place}] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32")
    print(f"    %f{i} = llvm.load %g{i} : !llvm.ptr<1> -> f32")


def kernel(n):
    print(f"gpu.module @of_{n} {{")
    print(f"  gpu.func @of_{n}(%p: !llvm.ptr<1> {{tl.align = 16 : i64}}, %o: !llvm.ptr<1>) kernel {{")
    print("    %s = tl.shared_base : !llvm.ptr<3>")
    print("    %two = arith.constant 2 : i64")
    print("    %one = arith.constant 1 : i64")
    print("    %zero = arith.constant 0 : i32")
    for i in range(2 * n):
        print(f"    %q{i} = llvm.getelementptr %s[{8 * (i // 2) + 4 * (i % 2)}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8")
        print(f"    %v{i} = llvm.load %q{i} : !llvm.ptr<3> -> i32")
    for i in range(n):
        load(i, odd=False)
    print("    %last = llvm.getelementptr %s[2048] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8")
    print("    llvm.store %zero, %last : i32, !llvm.ptr<3>")
    for i in range(n, 2 * n):
        load(i, odd=True)
    for i in range(2 * n):
        print(f"    %w{i} = llvm.getelementptr %o[{i}] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32")
        print(f"    llvm.store %f{i}, %w{i} : f32, !llvm.ptr<1>")
    print("    gpu.return\n  }\n}")


kernel(int(sys.argv[1]))
