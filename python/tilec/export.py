"""Compiled functions outside of Python: libraries to link, and sources to read, edit and run again."""

from __future__ import annotations

import os
from pathlib import Path

from . import _tl, log
from .errors import ArgumentError, TargetError
from .typed import TYPE_CHECKING
from .types import Symbol, TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .builder import Parameter
    from .kernel import Kernel
    from .types import Extent


def _refuse_computed(kernel: Kernel) -> None:
    if kernel.function.has_computed_extents:
        raise TargetError(
            f"a tensor of `{kernel.name}` has an extent that is computed of others, and only calls from Python ask for "
            f"that: give it a symbol of its own to export it"
        )


def library(kernel: Kernel, directory: str | Path, chips: Sequence[str] | None) -> None:
    """Builds a shared library of a function, and installs it with its header and its package for CMake."""
    if isinstance(chips, str) or (chips is not None and not chips):
        raise ArgumentError(f'`chips` is a list such as ["sm_80", "sm_90a"], not {chips!r}')
    _refuse_records(kernel)
    _refuse_computed(kernel)
    compiled = [kernel.compiled_for(chip) for chip in chips or [kernel.target]]
    warning = _tl.export_library(compiled, kernel.name, os.fspath(directory), compiler="", keep_dir="")
    if warning:
        log.warning(warning)


def _refuse_records(kernel: Kernel) -> None:
    if kernel.is_checked:
        raise TargetError(
            f"`{kernel.name}` is compiled with checks, and only calls from Python read what they report: compile it "
            f"with `checks=False` to export it"
        )
    if kernel.is_printing:
        raise TargetError(
            f"`{kernel.name}` prints, and only calls from Python read what it says: take `T.print`, `T.device_assert` "
            f"and `T.breakpoint` out of it to export it"
        )


def sources(kernel: Kernel, directory: str | Path) -> None:
    """Writes the device source, the host source, and a module that launches the device source again."""
    _refuse_records(kernel)
    _refuse_computed(kernel)
    folder = Path(directory)
    _tl.export_host_sources([kernel.compiled], kernel.name, os.fspath(directory))
    files = _device_files(kernel)
    for name, text in files.values():
        (folder / name).write_bytes(text)
    if kernel.is_cuda:
        (folder / f"{kernel.name}.py").write_text(Relaunch(kernel, files).text(), encoding="utf-8")


def _device_files(kernel: Kernel) -> dict[str, tuple[str, bytes]]:
    """Returns the name and the text of each kernel's device source. Kernels of one text share a file."""
    texts: dict[str, tuple[str, bytes]] = {}
    found: dict[str, tuple[str, bytes]] = {}
    for described in kernel.compile_info["kernels"]:
        name = described["name"]
        written = sorted(file for file in described["files"] if file.startswith("device_kernel"))
        file = written[0] if written else kernel.source_file
        text = kernel.file(file, name)
        if len(written) > 1 or text is None:  # linked of several texts, or given as a cubin
            file = "kernel.cubin"
            text = kernel.file(file, name)
        assert text is not None, "a compiled kernel has a cubin or a source"
        found[name] = (Path(file).suffix, text)
    several = len({text for _, text in found.values()}) > 1
    for name, (suffix, text) in found.items():
        same = next((other for other in texts.values() if other[1] == text), None)
        texts[name] = same or (f"device_kernel_{name}{suffix}" if several else f"device_kernel{suffix}", text)
    return texts


class Relaunch:
    """Prints a launch plan as a function of `T.CUDASourceCodeKernel`s."""

    def __init__(self, kernel: Kernel, files: dict[str, tuple[str, bytes]]) -> None:
        self.kernel = kernel
        self.files = files
        self.parameters = kernel.function.parameters
        self.plan: dict[str, Any] = kernel.compile_info["functions"][kernel.name]
        self.symbols: dict[str, None] = {}

    def text(self) -> str:
        """Returns the module."""
        declared = [f"    {p.name}: {self._type(p)}," for p in self.kernel.function.declared]
        allocated = [self._allocation(p) for p in self.parameters if p.is_workspace]
        launches = [line for launch in self.plan["launches"] for line in self._launch(launch)]
        name = self.kernel.name
        lines = [
            f'"""Launches the device source of `{name}` beside this file, edited or not, as `{name}` was launched."""',
            "",
            "from pathlib import Path",
            "",
            "import tilec.language as T",
            "",
            "HERE = Path(__file__).parent",
            *(f'{symbol} = T.dynamic("{symbol}")' for symbol in self.symbols),
            "",
            "",
            "@T.prim_func",
            f"def {name}(",
            *declared,
            "):",
            *(f"    {line}" for line in [*allocated, *launches] or ["pass"]),
            "",
        ]
        return "\n".join(lines)

    def _parameter(self, position: int) -> Parameter:
        return self.parameters[position]

    def _extent(self, extent: Extent) -> str:
        if not isinstance(extent, Symbol):
            return str(extent)
        self.symbols[extent.name] = None
        return extent.name

    def _tuple(self, extents: Sequence[Extent]) -> str:
        listed = ", ".join(self._extent(e) for e in extents)
        return f"({listed},)" if len(extents) == 1 else f"({listed})"

    def _type(self, parameter: Parameter) -> str:
        tensor = parameter.type
        if not isinstance(tensor, TensorType):
            return f"T.{tensor.dtype.name}"
        dtype = f'"{tensor.dtype.name}", align={tensor.align}'
        if tensor.strides is None:
            return f"T.Tensor({self._tuple(tensor.shape)}, {dtype})"
        return f"T.StridedTensor({self._tuple(tensor.shape)}, {self._tuple(tensor.strides)}, {dtype})"

    def _allocation(self, workspace: Parameter) -> str:
        tensor = workspace.type
        assert isinstance(tensor, TensorType), "workspaces are tensors"
        return f'{workspace.name} = T.alloc_global({self._tuple(tensor.shape)}, "{tensor.dtype.name}")'

    def _launch(self, launch: dict[str, Any]) -> list[str]:
        file, _ = self.files[launch["kernel"]]
        grid = ", ".join(self._expression(e) for e in launch["grid"])
        arguments = ", ".join(self._argument(p) for p in launch["params"])
        options = [
            f"threads={tuple(launch['block'])}",
            f"entry_name={_quoted(_entry_name(launch.get('entry', launch['kernel']), file))}",
            f"args=[{arguments}]",
            f'source_code_or_path=HERE / "{file}"',
        ]
        if launch.get("shared", 0) != 0:
            options.append(f"shared_memory={self._expression(launch['shared'])}")
        if launch.get("cluster", [1, 1, 1]) != [1, 1, 1]:
            options.append(f"cluster_dims={tuple(launch['cluster'])}")
        options += [f"{name}=True" for name in ("cooperative", "dependent") if launch.get(name)]
        if launch.get("symbols"):
            pairs = (f'"{s["name"]}": {self._parameter(s["arg"]).name}' for s in launch["symbols"])
            options.append(f"symbols={{{', '.join(pairs)}}}")
        return ["T.CUDASourceCodeKernel(", f"    {grid},", *(f"    {option}," for option in options), ")"]

    def _argument(self, parameter: dict[str, Any]) -> str:
        if "base" in parameter:
            return self._parameter(parameter["base"]).name
        if "scalar" in parameter:
            return self._parameter(parameter["scalar"]).name
        if "value" in parameter:
            return f"T.{parameter['type'].replace('i', 'int')}({self._expression(parameter['value'])})"
        if "struct" in parameter:
            return f"T.Struct({', '.join(self._argument(m) for m in parameter['struct']['members'])})"
        described = parameter["tensor_map"]
        box = tuple(reversed(described["box"]))  # plans have the innermost extent first
        return f"T.TensorMap({self._parameter(described['arg']).name}, {box}, swizzle={described['swizzle']})"

    def _expression(self, expression: Any) -> str:
        if isinstance(expression, int):
            return str(expression)
        operator: str = expression[0]
        operands: list[Any] = expression[1:]
        if operator == "scalar":
            return self._parameter(operands[0]).name
        if operator in ("dim", "stride"):
            tensor = self._parameter(operands[0]).type
            assert isinstance(tensor, TensorType), "plans are consistent"
            dim: int = operands[1]
            if operator == "dim":
                return self._extent(tensor.shape[dim])
            if tensor.strides is not None:
                return self._extent(tensor.strides[dim])
            return " * ".join(self._extent(e) for e in tensor.shape[dim + 1 :]) or "1"
        left, right = (self._expression(operand) for operand in operands)
        if operator in ("ceildiv", "min", "max"):
            return f"T.{operator}({left}, {right})"
        return f"({left} {({'floordiv': '//', 'mod': '%'}).get(operator, operator)} {right})"


def _quoted(text: str) -> str:
    """Returns a text as a literal: names like `operator"" _x` have quotes."""
    import json

    return json.dumps(text)


def _entry_name(symbol: str, file: str) -> str:
    """Returns how a kernel is named for its source: `ns::scale<float, 4>` in CUDA C++, its symbol elsewhere."""
    if not file.endswith(".cu"):
        return symbol
    # Functions of templates come with their type, which is that of all kernels.
    signature = _tl.demangle(symbol).removeprefix("void ")
    depth = 0
    for i, character in enumerate(signature):
        depth += (character == "<") - (character == ">")
        if character == "(" and depth == 0:
            return signature[:i]
    return signature
