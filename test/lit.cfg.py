"""What lit needs to run the tests below this directory.

A feature is found by probing, never by configuration: a test that says
`REQUIRES: cuda-sm90` runs where a Hopper GPU answers and is reported as
unsupported elsewhere.
"""

import ctypes
import glob
import os
import shutil
import subprocess
import sys

import lit.formats
from lit.llvm import llvm_config

config.name = "TL"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "python", "unit"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.tl_obj_root, "test")

llvm_config.with_environment("PATH", config.llvm_tools_dir, append_path=True)
llvm_config.with_system_environment(["CUDA_HOME", "CUDA_VISIBLE_DEVICES"])
tl_tools_dir = os.path.join(config.tl_obj_root, "bin")
llvm_config.add_tool_substitutions(["tl-cache", "tl-lsp-server", "tl-opt", "tl-translate"], [tl_tools_dir])
llvm_config.add_tool_substitutions(["FileCheck", "not", "split-file"], [config.llvm_tools_dir])
config.substitutions.append(("%tl_src", config.tl_src_root))
config.substitutions.append(("%tl_obj", config.tl_obj_root))


def find_ptxas():
    """The path of `ptxas`, or None. The toolkit's own directory comes first."""
    toolkit = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    return shutil.which("ptxas", path=os.path.join(toolkit, "bin")) or shutil.which("ptxas")


def find_nvcc():
    """The path of `nvcc`, or None."""
    toolkit = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    return shutil.which("nvcc", path=os.path.join(toolkit, "bin")) or shutil.which("nvcc")


def find_nvdisasm():
    """The path of `nvdisasm`, or None; the development environment has it as a package."""
    toolkit = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    found = shutil.which("nvdisasm", path=os.path.join(toolkit, "bin")) or shutil.which("nvdisasm")
    packaged = glob.glob(os.path.join(config.tl_src_root, ".venv/lib/python*/site-packages/nvidia/*/bin/nvdisasm"))
    return found or next(iter(packaged), None)


def has_library(names):
    """True if one of the shared libraries can be loaded."""
    for name in names:
        try:
            ctypes.CDLL(name)
            return True
        except OSError:
            continue
    return False


def cuda_capabilities():
    """Compute capabilities of the GPUs that answer, such as {90}."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return set()
    count = ctypes.c_int()
    if cuda.cuInit(0) != 0 or cuda.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return set()
    capabilities = set()
    for ordinal in range(count.value):
        device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        cuda.cuDeviceGet(ctypes.byref(device), ordinal)
        # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR.
        cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, device)
        cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)
        capabilities.add(10 * major.value + minor.value)
    return capabilities


def find_python():
    """The interpreter of `.venv` if `tilec` is installed in it, or None."""
    python = os.path.join(config.tl_src_root, ".venv", "bin", "python")
    if not os.path.exists(python):
        return None
    found = subprocess.run([python, "-c", "import tilec"], capture_output=True)
    return python if found.returncode == 0 else None


if ptxas := find_ptxas():
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", ptxas))
if nvcc := find_nvcc():
    config.available_features.add("nvcc")
    config.substitutions.append(("%nvcc", nvcc))
if nvdisasm := find_nvdisasm():
    config.available_features.add("nvdisasm")
    config.substitutions.append(("%nvdisasm_home", os.path.dirname(os.path.dirname(nvdisasm))))
cuda_inputs = f"{sys.executable} {config.test_source_root}/Target/CUDACpp/Inputs"
config.substitutions.append(("%every_op", f"{cuda_inputs}/every_op.py"))
config.substitutions.append(("%unit_text", f"{cuda_inputs}/unit_text.py"))
config.substitutions.append(
    ("%module_text", f"{sys.executable} {config.test_source_root}/Target/CuTeDSL/Inputs/module_text.py")
)
if has_library(["libnvJitLink.so.13", "/usr/local/cuda/lib64/libnvJitLink.so.13"]):
    config.available_features.add("nvjitlink")
if has_library(["libnvrtc.so.13", "/usr/local/cuda/lib64/libnvrtc.so.13"]):
    config.available_features.add("nvrtc")
if shutil.which("nvcc", path=os.environ.get("PATH", "") + ":/usr/local/cuda/bin"):
    config.available_features.add("nvcc")
if capabilities := cuda_capabilities():
    config.available_features.add("cuda")
    config.available_features.update(f"cuda-sm{c}" for c in capabilities)
if python := find_python():
    config.available_features.add("python")
    config.substitutions.append(("%python", python))
