"""Kernels with one mistake each, and whether the simulator notices: `python -m mutations --help`, in `test/fuzz`.

`kernels` has what the compiler made, `mutants` changes one line of it, `verdicts` says what the simulator makes of
that, `reasons` why a change does not matter, and `agreement` what `tl-verify-sync` says of the same at tile level.
"""
