"""Random tile programs, each with what it must compute: `python -m programs --help`, in `test/fuzz`.

`generator` draws a program (`program`), `printer` writes it down as a `@T.prim_func`, `reference` interprets it with
NumPy by docs/language/semantics.md, `execution` compiles and runs it, and `shrinker` makes what failed small.
"""
