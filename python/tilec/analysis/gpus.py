"""What NVIDIA publishes of its GPUs, as far as the cost model needs it (`tilec.analysis.roofline`)."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import ArgumentError, TargetError

_FLOAT16_FLOP_PER_CLOCK = {"80": 2048, "89": 1024, "90": 4096}
"""What the tensor cores of a multiprocessor multiply and add in a clock, by compute capability: white papers of the
architectures (Ampere, Ada, Hopper), without sparsity."""


@dataclass(frozen=True)
class GPU:
    """A GPU.

    - `capability`: its compute capability, as chips name it: "90".
    - `multiprocessors`: how many there are.
    - `bandwidth`: bytes of device memory in a second, read and written together.
    - `cache`: bytes of the L2 cache.
    - `flop`: what its tensor cores multiply and add in a second, without sparsity, by type of the factors.
    """

    name: str
    capability: str
    multiprocessors: int
    bandwidth: float
    cache: int
    flop: dict[str, float]

    @property
    def clock(self) -> float:
        """Clocks in a second for which `flop` is published. A GPU that is short of power has fewer."""
        return self.flop["float16"] / (self.multiprocessors * _FLOAT16_FLOP_PER_CLOCK[self.capability])

    def check_runs(self, function: str, target: str) -> None:
        """Raises unless it runs what is compiled for a chip."""
        chip = target.removeprefix("sm_")
        if chip[-1] in "af":
            runs = chip[:-1] == self.capability
        else:
            runs = chip.isdecimal() and int(chip) <= int(self.capability)
        if not runs:
            raise TargetError(
                f"`{function}` is compiled for {target}, and {self.name} is sm_{self.capability}: compile it for that"
            )


def _tensor_cores(
    *, float64: float, tfloat32: float, float16: float, byte: float, has_float8: bool
) -> dict[str, float]:
    """Returns the rates of all types of factors. Types of one size have one rate."""
    rates = {"float64": float64, "tfloat32": tfloat32, "float16": float16, "bfloat16": float16}
    rates |= {"int8": byte, "uint8": byte}
    return {**rates, "float8_e4m3": byte, "float8_e5m2": byte} if has_float8 else rates


_HOPPER = _tensor_cores(float64=66.9e12, tfloat32=494.7e12, float16=989.4e12, byte=1978.9e12, has_float8=True)

GPUS = (
    GPU(
        "A100",
        "80",
        108,
        2.039e12,
        40 << 20,
        _tensor_cores(float64=19.5e12, tfloat32=156e12, float16=312e12, byte=624e12, has_float8=False),
    ),
    GPU(
        "L40S",
        "89",
        142,
        0.864e12,
        96 << 20,
        _tensor_cores(float64=1.43e12, tfloat32=183e12, float16=362.05e12, byte=733e12, has_float8=True),
    ),
    GPU("H100", "90", 132, 3.35e12, 50 << 20, _HOPPER),
    GPU("H200", "90", 132, 4.8e12, 50 << 20, _HOPPER),
)
"""Data sheets of NVIDIA: "A100 Tensor Core GPU" (80 GB, SXM), "L40S", "H100 Tensor Core GPU" (SXM; more digits in the
white paper "H100 Tensor Core GPU Architecture"), "H200 Tensor Core GPU" (SXM). Where they say what sparsity gives, half
of it is here. The tensor cores of the L40S do not speed `float64` up: that is a 64th of the rate of `float32`."""


def find(name: str) -> GPU:
    """Returns the GPU of that name: "H200", or what the driver calls it, such as "NVIDIA H200"."""
    words = name.upper().replace("-", " ").split()
    for gpu in GPUS:
        if gpu.name in words:
            return gpu
    known = ", ".join(gpu.name for gpu in GPUS)
    raise ArgumentError(f"what `{name}` can do is not known here; known are {known}")
