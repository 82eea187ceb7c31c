"""Prints thread-level kernels with every arithmetic op, in every type that it takes.

What is printed is for compilers: tests that look at the text are written by hand.
"""

BINARY = (
    "addi subi muli divsi divui remsi remui ceildivsi ceildivui floordivsi maxsi maxui minsi minui andi ori xori shli "
    "shrsi shrui"
)
FLOAT_BINARY = "addf subf mulf divf remf maximumf maxnumf minimumf minnumf"
FLOAT_UNARY = (
    "absf acos acosh asin asinh atan atanh cbrt ceil cos cosh erf exp exp2 expm1 floor log log10 log1p log2 round "
    "roundeven rsqrt sin sinh sqrt tan tanh trunc"
)
# What f64 has: docs of convert-tl-to-nvvm.
DOUBLE_UNARY = "absf ceil floor round roundeven rsqrt sqrt trunc"
PREDICATES = "eq ne slt sle sgt sge ult ule ugt uge"
FLOAT_PREDICATES = "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true"


class Printer:
    def __init__(self):
        self.count = 0

    def value(self, op):
        self.count += 1
        print(f"    %v{self.count} = {op}")
        return f"%v{self.count}"

    def store(self, value, of_type):
        # A truth value takes a byte in memory.
        if "i1" in of_type and "i16" not in of_type:
            wide = of_type.replace("i1", "i8")
            value, of_type = self.value(f"arith.extui {value} : {of_type} to {wide}"), wide
        print(f"    llvm.store volatile {value}, %p : {of_type}, !llvm.ptr<1>")

    def load(self, of_type):
        if of_type in ("i1", "vector<4xi1>"):
            wide = of_type.replace("i1", "i8")
            loaded = self.value(f"llvm.load volatile %p : !llvm.ptr<1> -> {wide}")
            return self.value(f"arith.trunci {loaded} : {wide} to {of_type}")
        return self.value(f"llvm.load volatile %p : !llvm.ptr<1> -> {of_type}")

    def apply(self, op, of_type, *values, result=None):
        operands = ", ".join(values)
        self.store(self.value(f"{op} {operands} : {of_type}"), result or of_type)


def kernel(name, body):
    print(f"  gpu.func @{name}(%p: !llvm.ptr<1> {{tl.param = #tl.param<base, 0>}}) kernel")
    print("      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {")
    body(Printer())
    print("    gpu.return\n  }")


def truth(of_type):
    return "vector<4xi1>" if "vector" in of_type else "i1"


def integers(of_type):
    def body(p):
        x, y = p.load(of_type), p.load(of_type)
        for op in BINARY.split():
            if "i1" in of_type and "i16" not in of_type and ("div" in op or "rem" in op or "sh" in op):
                continue
            p.apply(f"arith.{op}", of_type, x, y)
        for predicate in PREDICATES.split():
            p.apply(f"arith.cmpi {predicate},", of_type, x, y, result=truth(of_type))
        test = p.load(truth(of_type))
        shown = f"{truth(of_type)}, {of_type}" if "vector" in of_type else of_type
        p.apply("arith.select", shown, test, x, y, result=of_type)
        if "i1" in of_type and "i16" not in of_type:
            return
        for op in ("absi", "ctlz", "ctpop", "cttz"):
            p.apply(f"math.{op}", of_type, x)
        for op in ("mulsi_extended", "mului_extended"):
            p.count += 1
            print(f"    %v{p.count}:2 = arith.{op} {x}, {y} : {of_type}")
            p.store(f"%v{p.count}#0", of_type)
            p.store(f"%v{p.count}#1", of_type)
        p.count += 1
        print(f"    %v{p.count}:2 = arith.addui_extended {x}, {y} : {of_type}, {truth(of_type)}")
        p.store(f"%v{p.count}#0", of_type)
        p.store(f"%v{p.count}#1", truth(of_type))

    kernel(f"integers_{of_type.strip('>').replace('<', '_')}", body)


def floats(of_type):
    def body(p):
        x, y = p.load(of_type), p.load(of_type)
        for op in FLOAT_BINARY.split():
            p.apply(f"arith.{op}", of_type, x, y)
        p.apply("arith.negf", of_type, x)
        double = "f64" in of_type
        for op in (DOUBLE_UNARY if double else FLOAT_UNARY).split():
            p.apply(f"math.{op}", of_type, x)
        p.apply("math.copysign", of_type, x, y)
        p.apply("math.fma", of_type, x, y, x)
        for op in ("isfinite", "isnan"):
            p.apply(f"math.{op}", of_type, x, result=truth(of_type))
        if not double:
            p.apply("math.atan2", of_type, x, y)
            p.apply("math.powf", of_type, x, y)
            whole = "vector<4xi32>" if "vector" in of_type else "i32"
            n = p.value(f"arith.constant {'dense<3>' if 'vector' in of_type else 3} : {whole}")
            p.store(p.value(f"math.fpowi {x}, {n} : {of_type}, {whole}"), of_type)
        for predicate in FLOAT_PREDICATES.split():
            p.apply(f"arith.cmpf {predicate},", of_type, x, y, result=truth(of_type))

    kernel(f"floats_{of_type.strip('>').replace('<', '_')}", body)


def conversions(shape):
    def of(element):
        return f"vector<4x{element}>" if shape else element

    widths = ["i1", "i8", "i16", "i32", "i64"]
    kinds = ["f16", "bf16", "f32", "f64"]

    def body(p):
        def convert(op, source, target):
            x = p.load(of(source))
            p.store(p.value(f"arith.{op} {x} : {of(source)} to {of(target)}"), of(target))

        for i, narrow in enumerate(widths):
            for wide in widths[i + 1 :]:
                convert("extsi", narrow, wide)
                convert("extui", narrow, wide)
                convert("trunci", wide, narrow)
            for kind in kinds:
                convert("sitofp", narrow, kind)
                convert("uitofp", narrow, kind)
                convert("fptosi", kind, narrow)
                convert("fptoui", kind, narrow)
        for narrow, wide in (("f16", "f32"), ("bf16", "f32"), ("f16", "f64"), ("bf16", "f64"), ("f32", "f64")):
            convert("extf", narrow, wide)
            convert("truncf", wide, narrow)
        for a, b in (("i16", "f16"), ("i16", "bf16"), ("i32", "f32"), ("i64", "f64")):
            convert("bitcast", a, b)
            convert("bitcast", b, a)
        for other in ("i8", "i32", "i64"):
            x = p.load(of(other))
            for op in ("index_cast", "index_castui"):
                index = p.value(f"arith.{op} {x} : {of(other)} to {of('index')}")
                doubled = p.value(f"arith.addi {index}, {index} : {of('index')}")
                p.store(p.value(f"arith.{op} {doubled} : {of('index')} to {of(other)}"), of(other))

    kernel("conversions_vector" if shape else "conversions", body)


def main():
    import sys

    print(f'gpu.module @every attributes {{tl.target = #tl.target<chip = "{sys.argv[1]}">}} {{')
    for of_type in ("i1", "i8", "i16", "i32", "i64", "vector<4xi1>", "vector<4xi8>", "vector<4xi32>"):
        integers(of_type)
    for of_type in ("f16", "bf16", "f32", "f64", "vector<4xf16>", "vector<4xf32>"):
        floats(of_type)
    conversions(shape=False)
    conversions(shape=True)
    print("}")


main()
