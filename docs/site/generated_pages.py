"""Gives the pages of `docs/reference`, which TableGen writes, a title and headings that begin below it."""

import re

TITLES = {
    "TLDialect": "The `tl` dialect",
    "TLPasses": "Passes on tiles",
    "TLPipelinePasses": "Passes of the pipeline",
    "TLSimulatorPasses": "Passes of the simulator",
    "TLTargetCPUPasses": "Passes that make machine code for CPUs",
    "TLTargetCUDACppPasses": "Passes that make CUDA C++",
    "TLTargetCUDAPasses": "Passes for CUDA C++ by users",
    "TLTargetCuTeDSLPasses": "Passes that make CuTe DSL",
    "TLTargetCubinPasses": "Passes that make cubins",
    "TLTargetPTXPasses": "Passes that make PTX",
    "TLTargetSimulatorPasses": "Passes that make programs of the simulator",
    "TLToCPUPasses": "Passes from tiles to CPUs",
    "TLToNVVMPasses": "Passes from threads to NVVM",
    "TLToThreadsPasses": "Passes from tiles to threads",
}


def titled(name: str, text: str) -> str:
    """Returns a generated page as the site shows it."""
    text = re.sub(r"^<!--.*?-->\n", "", text)
    headings = [len(found) for found in re.findall(r"^(#+) ", outside_of_code(text), flags=re.MULTILINE)]
    above = min(headings, default=2) - 2
    lines, in_code = [], False
    for line in text.splitlines():
        in_code ^= line.lstrip().startswith("```")
        lines.append(line[above:] if not in_code and above > 0 and re.match("#+ ", line) else line)
    return f"# {TITLES[name]}\n\n" + "\n".join(lines) + "\n"


def outside_of_code(text: str) -> str:
    """Returns a page without what stands between fences."""
    return re.sub(r"^\s*```.*?^\s*```", "", text, flags=re.MULTILINE | re.DOTALL)


def read(app, docname, source):
    folder, _, name = docname.rpartition("/")
    if folder == "reference" and name in TITLES:
        source[0] = titled(name, source[0])


def setup(app):
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
