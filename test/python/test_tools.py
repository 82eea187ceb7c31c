"""Pictures of what the compiler decided (docs/Explaining.md), against the definitions of the hardware."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec import tools
from tilec.backends import sim
from tilec.errors import ArgumentError, MissingPackageError, RangeError, TargetError

pytest.importorskip("matplotlib")


@T.prim_func
def gemm(A: T.Tensor((256, 256), "float16"), B: T.Tensor((256, 256), "float16"), C: T.Tensor((256, 256), "float16")):
    with T.Kernel(2, 2, threads=128) as (bx, by):
        As = T.alloc_shared((128, 64), "float16")
        Bs = T.alloc_shared((64, 128), "float16")
        acc = T.alloc_fragment((128, 128), "float32")
        T.clear(acc)
        for k in T.Pipelined(4, num_stages=3):
            T.copy(A[by * 128, k * 64], As)
            T.copy(B[k * 64, bx * 128], Bs)
            T.gemm(As, Bs, acc)
        T.copy(acc, C[by * 128, bx * 128])


@T.prim_func
def rows(A: T.Tensor((64, 24), "float32"), B: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=64):
        S = T.alloc_shared((64, 24), "float32")
        sums = T.alloc_fragment((64,), "float32")
        T.copy(A, S)
        T.reduce_sum(S, sums, dim=1)
        T.copy(sums, B)


@T.prim_func
def double(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=64):
        for i in T.Parallel(64):
            B[i] = A[i] * 2


def cells(picture):
    """Returns the texts of the cells, row by row."""
    texts = re.findall(r"<text [^>]*>([^<]*)</text>", picture.svg())
    return [text for text in texts if re.fullmatch(r"\d+:\d+(-\d+)?|\d+ \(\d+\)", text)]


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_an_accumulator_lies_as_the_instruction_has_it(target):
    """PTX ISA, "Matrix Fragments for mma.m16n8k16" and "Register Fragments for wgmma.mma_async.m64nNk16"."""
    kernel = tilec.compile(gemm, target=target)
    drawn = cells(tools.plot_layout(kernel, "acc", columns=slice(0, 16)))
    lanes = [row % 8 * 4 + pair % 4 for row in range(16) for pair in range(8)]
    registers = [pair // 4 * 4 + row // 8 * 2 for row in range(16) for pair in range(8)]
    assert drawn == [f"{lane}:{first}-{first + 1}" for lane, first in zip(lanes, registers, strict=True)]


def test_operands_lie_as_the_instruction_takes_them():
    """PTX ISA, "Matrix Fragments for mma.m16n8k16": A, and B, whose rows are those of K."""
    kernel = tilec.compile(gemm, target="sm_80")
    drawn = cells(tools.plot_layout(kernel, "As", operand=True, columns=slice(0, 16)))
    pairs = [(row % 8 * 4 + pair % 4, row // 8 * 2 + pair // 4 * 4) for row in range(16) for pair in range(8)]
    assert drawn == [f"{lane}:{first}-{first + 1}" for lane, first in pairs]
    drawn = cells(tools.plot_layout(kernel, "Bs", operand=True, columns=slice(0, 16)))
    held = [(n % 8 * 4 + k % 8 // 2, k % 2 + k // 8 * 2 + n // 8 * 4) for k in range(16) for n in range(16)]
    assert drawn == [f"{lane}:{register}" for lane, register in held]
    with pytest.raises(ArgumentError, match="no shared tile that warps load for `mma.sync` `As`; it has none that has"):
        tools.plot_layout(tilec.compile(gemm, target="sm_90a"), "As", operand=True)


def test_operands_are_held_by_the_warps_that_multiply_them():
    """The four warps are two by two: A is with those of its rows, B with those of its columns, each twice."""
    kernel = tilec.compile(gemm, target="sm_80")
    a = tools.plot_layout(kernel, "As", operand=True, rows=slice(64, 65), columns=slice(0, 2))
    b = tools.plot_layout(kernel, "Bs", operand=True, rows=slice(0, 1), columns=slice(64, 65))
    assert (cells(a), cells(b)) == (["32:0-1"], ["64:0"])
    assert all("of the first of 2 threads that hold it" in picture.svg() for picture in (a, b))


@pytest.mark.parametrize(("tile", "row"), [("As", 0), ("Bs", 8)])
def test_a_swizzle_permutes_units_of_16_bytes(tile, row):
    """PTX ISA, "Tensor swizzling modes": unit XOR row in lines of 128 bytes, so that a column is in all banks."""
    kernel = tilec.compile(gemm, target="sm_90a")
    drawn = cells(tools.plot_layout(kernel, tile, rows=slice(row, row + 8)))
    units = [(r, unit ^ r % 8) for r in range(row, row + 8) for unit in range(8)]
    assert drawn == [f"{r * 128 + unit * 16} ({unit * 4})" for r, unit in units]
    assert {text.split()[1] for text in drawn[::8]} == {f"({bank})" for bank in range(0, 32, 4)}


def test_rows_that_are_no_multiple_of_128_bytes_lie_in_panels():
    """Those of 96 bytes in three, with the swizzle of 32 bytes: of two units, in turns of four rows."""
    kernel = tilec.compile(rows, target="sm_90a")
    drawn = cells(tools.plot_layout(kernel, "S", rows=slice(3, 5)))
    units = [panel * 128 + row * 2 + (unit ^ row // 4) for row in (3, 4) for panel in range(3) for unit in range(2)]
    assert drawn == [f"{unit * 16} ({unit * 4 % 32})" for unit in units]


def test_a_fragment_of_one_dimension_is_a_row():
    kernel = tilec.compile(rows, target="sm_90a")
    picture = tools.plot_layout(kernel, "sums")
    assert len(set(cells(picture))) == len(cells(picture)) == 64
    assert "of the first of 8 threads that hold it" in picture.svg()


def boxes(picture):
    """Returns the corners of what is drawn: first byte, first row, last byte, last row."""
    (axes, *_) = picture.figure.axes
    return {tuple(collection.get_paths()[0].get_extents().extents) for collection in axes.collections}


def test_shared_memory_over_the_program():
    """Tiles hold something from their first copies to the last wait; then the result is staged where `As` was."""
    picture = tools.plot_shared_memory(tilec.compile(gemm, target="sm_90a"))
    labels, operations = ([text.get_text() for text in axis.get_ticklabels()] for axis in axes_of(picture))
    copies = {name: [i for i, text in enumerate(labels) if f"], {name})" in text] for name in ("As", "Bs")}
    end = max(i for i, op in enumerate(operations) if op == "tl.wait_gemm")
    store = next(i for i, text in enumerate(labels) if text.startswith("T.copy(acc, C["))
    assert len(copies["As"]) == 3, "two before the loop, one in it"
    assert labels[operations.index("tl.gemm")].startswith("T.gemm(As, Bs, acc)")
    assert boxes(picture) == {
        (0, copies["As"][0] - 0.5, 3 * 16384, end + 0.5),
        (3 * 16384, copies["Bs"][0] - 0.5, 6 * 16384, end + 0.5),
        (0, store - 0.5, 32768, store + 0.5),
        (6 * 16384, -0.5, 6 * 16384 + 24, len(labels) - 0.5),
    }
    assert "narrow: barriers: 24 bytes at 98304" in picture.svg()
    assert "As: 3 × 16384 bytes" in picture.svg()


def axes_of(picture):
    """Returns the axis of the program's lines, and that of the operations."""
    (axes,) = picture.figure.axes
    (right,) = axes.child_axes
    return axes.yaxis, right.yaxis


def test_buffers_that_a_loop_goes_around_keep_their_place():
    """Neither holds anything when the other one is used, and the loop comes back to both."""

    @T.prim_func
    def turns(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared((64, 64), "float32")
            R = T.alloc_shared((64, 64), "float32")
            for k in T.serial(4):
                T.copy(A, S)
                T.copy(S, B)
                T.copy(B, R)
                T.copy(R, A)

    picture = tools.plot_shared_memory(tilec.compile(turns, target="sm_80"))
    spans = sorted((*box[::2], box[3] - box[1]) for box in boxes(picture))
    assert spans == [(0, 16384, 2), (0, 16384, 4), (16384, 32768, 2), (16384, 32768, 4)]


def arguments(zero=0):
    return [np.full((256, 256), zero, "float16") for _ in range(3)]


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_a_trace_is_the_same_under_all_seeds(target):
    """Steps follow from what depends on what."""
    kernel = tilec.compile(gemm, target=target, backend="sim")
    traces = []
    for seed in range(3):
        sim.set_options(seed=seed)
        traces.append(sim.trace(kernel, *arguments()))
    sim.set_options()
    assert traces[0] == traces[1] == traces[2]
    (trace,) = traces[0]
    assert [warp for role in trace.roles for warp in role.warps] == [0, 1, 2, 3]
    for role in trace.roles:
        products = [act for act in role.acts if act.kind in ("wgmma", "mma")]
        copies = [act for act in role.acts if act.kind in ("bulk load", "cp.async")]
        assert len(products) == 4
        assert all(act.begin < act.end and act.begin < act.read <= trace.steps for act in copies)
    loads = [act for role in trace.roles for act in role.acts if act.kind in ("bulk load", "cp.async")]
    refill = next(act for act in loads[1:] if act.address == loads[0].address)
    assert refill.begin >= loads[0].read, "a stage is filled again when it was read"


def test_a_trace_says_how_long_a_warp_waits():
    """The second warp waits for what the first has to do before; and a barrier holds up the first."""

    @T.prim_func
    def handing(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            S = T.alloc_shared((64,), "float32")
            T.copy(A, S)
            for i in T.Parallel(64):
                B[i] = S[63 - i]

    kernel = tilec.compile(handing, target="sm_90a", backend="sim")
    (trace,) = sim.trace(kernel, np.zeros(64, "float32"), np.zeros(64, "float32"))
    acts = {role.name: [(act.kind, act.begin, act.end) for act in role.acts] for role in trace.roles}
    waits = [span for role in acts.values() for kind, *span in role if kind in ("wait", "barrier")]
    assert waits
    assert all(begin <= end for begin, end in waits)
    with pytest.raises(RangeError, match="kernel `handing_kernel` has 1 blocks, and none with the number 1"):
        sim.trace(kernel, np.zeros(64, "float32"), np.zeros(64, "float32"), block=1)


def test_the_pipeline_as_a_time_line():
    picture = tools.plot_timeline(tilec.compile(gemm, target="sm_90a"), *arguments())
    (axes,) = picture.figure.axes
    rows = [text.get_text() for text in axis_texts(axes)]
    assert [row for row in rows if row.startswith(("As", "Bs"))] == [
        f"{t}[{i}]" for t in ("As", "Bs") for i in range(3)
    ]
    assert {row.split(": ")[1] for row in rows if ": " in row} == {"copies", "products", "waits"}
    # Four fills of three stages, each a pale box and one from its copy's beginning to its end.
    drawn = [box for box in boxes(picture) if rows[round((box[1] + box[3]) / 2)].startswith("As")]
    assert len(drawn) == 2 * 4
    product = next(i for i, line in enumerate(source(), 1) if "T.gemm(As, Bs, acc)" in line)
    assert f">{product}</text>" in picture.svg()
    with pytest.raises(ArgumentError, match="no kernel of `double` copies, multiplies or waits"):
        tools.plot_timeline(tilec.compile(double, target="sm_90a"), np.zeros(64, "float32"), np.zeros(64, "float32"))


def axis_texts(axes):
    return axes.yaxis.get_ticklabels()


def source():
    return Path(__file__).read_text().splitlines()


def test_an_estimate_against_the_roof():
    """A point lies at flop for each byte, below the roof; bars are as long as the parts take."""
    estimate = tilec.compile(gemm, target="sm_90a").analyze(*arguments(), gpu="H200")
    picture = tools.plot_roofline(estimate)
    roof, lines = picture.figure.axes
    (launch,) = estimate.launches
    (x, y) = next(line.get_xydata()[0] for line in roof.lines if line.get_marker() == "o")
    flop, moved = 2 * 256**3, 3 * 256 * 256 * 2
    assert x == pytest.approx(flop / moved)
    assert y == pytest.approx(flop / estimate.seconds)
    assert y <= min(x * 4.8e12, 989.4e12)
    bars = [bar.get_width() for bar in lines.patches[:4]]
    parts = (launch.device_memory, launch.shared_memory, launch.tensor_cores, launch.issue)
    assert bars == pytest.approx([seconds * 1e6 for seconds in parts])
    assert "estimate for H200, no measurement" in picture.svg()
    assert "989 Tflop/s float16" in picture.svg()


def test_an_estimate_without_products_has_lines_only():
    kernel = tilec.compile(double, target="sm_90a")
    picture = tools.plot_roofline(kernel.analyze(np.zeros(64, "float32"), np.zeros(64, "float32"), gpu="H200"))
    (axes,) = picture.figure.axes
    assert any("B[i] = A[i] * 2" in text.get_text() for text in axes.yaxis.get_ticklabels())


def test_pictures_are_files_and_show_themselves(tmp_path):
    picture = tools.plot_layout(tilec.compile(gemm, target="sm_90a"), "As")
    picture.save(tmp_path / "As.svg")
    picture.save(tmp_path / "As.png")
    assert (tmp_path / "As.svg").read_text() == picture.svg() == picture._repr_svg_()
    assert (tmp_path / "As.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ArgumentError, match=re.escape("saved as `.svg` or `.png`, not as `As.gif`")):
        picture.save("As.gif")


def test_what_cannot_be_drawn(monkeypatch):
    kernel = tilec.compile(gemm, target="sm_90a")
    with pytest.raises(ArgumentError, match="`gemm` has no fragment or shared tile `Cs`; it has `As`, `Bs`, `acc`"):
        tools.plot_layout(kernel, "Cs")
    with pytest.raises(ArgumentError, match="`As` has 128 rows and 64 columns, and the part to draw has none of them"):
        tools.plot_layout(kernel, "As", rows=slice(128, 140))
    with pytest.raises(TargetError, match=r"for the CPU, where tiles have no layout.*`target=\"sm_90a\"`"):
        tools.plot_layout(tilec.compile(gemm, target="cpu"), "As")
    with pytest.raises(ArgumentError, match="`double` has nothing in shared memory"):
        tools.plot_shared_memory(tilec.compile(double, target="sm_90a"))
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingPackageError, match="`plot_layout` needs the package `matplotlib`: `pip install"):
        tools.plot_layout(kernel, "As")


def test_the_pictures_of_the_documentation(python, tmp_path, monkeypatch):
    """They are what its programs draw, to the last word; lines and fonts may change with Matplotlib.

    To draw them anew, run the programs of the page in the folder.
    """
    page = Path(__file__).parents[2] / "docs" / "Explaining.md"
    blocks = [part.split("```")[0] for part in page.read_text().split("```python\n")[1:]]
    monkeypatch.chdir(tmp_path)
    python("\n".join(blocks), TL_TARGET="sm_90a")
    kept = sorted((page.parent / "pictures").glob("*.svg"))
    assert [path.name for path in kept] == sorted(path.name for path in tmp_path.glob("*.svg"))
    for path in kept:
        texts = [re.findall(r"<text [^>]*>([^<]*)</text>", p.read_text()) for p in (path, tmp_path / path.name)]
        assert texts[0] == texts[1], path.name
