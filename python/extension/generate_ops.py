"""Makes the Python module that builds operations, of their definitions in TableGen.

    llvm-tblgen --dump-json FrontEndOps.td -o ops.json
    python generate_ops.py ops.json _ops.py

Each operation of the record `FrontEnd` becomes a function. Its parameters are the operands, attributes, result types
and regions of the definition, in that order and by these names; a name of more than one word is written in Python's
way. Operands that may be missing or be several, and how many there were of each, are the function's affair, as are the
words in which MLIR writes an attribute.
"""

from __future__ import annotations

import json
import keyword
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HEAD = '''"""Functions that build operations, each at the end of the current block.

Made of the definitions in TableGen by python/extension/generate_ops.py; changes belong there.
"""

from __future__ import annotations

from .builder import current
from .ir import integers
from .location import quote
from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from .ir import Block, Op, Value
    from .location import Location
'''

FIXED_TYPES = {"Index": "index", "I1": "i1", "BoolLike": "i1"}
"""Types of results that need not be given. The front end builds scalars: what is like a `bool` is one."""


@dataclass
class Parameter:
    """A parameter of a function."""

    name: str
    type: str
    default: str | None = None

    def __str__(self) -> str:
        return f"{self.name}: {self.type}" + ("" if self.default is None else f" = {self.default}")


@dataclass
class Group:
    """Operands, results or regions of one name: one, at most one, or any number of them."""

    name: str
    kind: str
    """"one", "optional" or "variadic"."""
    constraint: str


@dataclass
class Function:
    """A function that is being written."""

    name: str
    op: str
    summary: str
    positional: list[Parameter] = field(default_factory=list[Parameter])
    keywords: list[Parameter] = field(default_factory=list[Parameter])
    properties: list[str] = field(default_factory=list[str])
    """Entries of the dictionary of properties."""
    conditional: list[str] = field(default_factory=list[str])
    """Statements that add what may be missing."""
    operands: str = "()"
    results: str = "()"
    regions: str = "()"

    def text(self) -> str:
        parameters = [*map(str, self.positional), "*", *map(str, self.keywords)]
        arguments = [f'"{self.op}"', self.operands, self.results, "None"]
        body: list[str] = []
        if self.properties or self.conditional:
            arguments[-1] = "properties"
            body = [listed("properties: dict[str, str] = {", self.properties, "}"), *self.conditional]
        arguments.append("attributes=attributes")
        if self.regions != "()":
            arguments.append(f"regions={self.regions}")
        arguments.append("location=location")
        lines = [f'"""{self.summary}"""', *body, listed("return current().emit(", arguments, ")")]
        indented = "\n".join(lines).replace("\n", "\n    ")
        return f"{listed(f'def {self.name}(', parameters, ') -> Op:')}\n    {indented}"


def listed(head: str, items: list[str], tail: str) -> str:
    """Returns items in brackets: in a line if they fit, else each in a line of its own."""
    line = f"{head}{', '.join(items)}{tail}"
    if len(line) < 100 and "\n" not in line:
        return line
    indented = [item.replace("\n", "\n    ") for item in items]
    return head + "".join(f"\n    {item}," for item in indented) + "\n" + tail


class Definitions:
    """The records of TableGen."""

    def __init__(self, records: dict[str, Any]) -> None:
        self._records = records

    def of(self, reference: dict[str, Any]) -> dict[str, Any]:
        return self._records[reference["def"]]

    def front_end(self) -> list[dict[str, Any]]:
        return [self.of(op) for op in self._records["FrontEnd"]["ops"]]

    def arguments(self, op: dict[str, Any], what: str) -> list[tuple[str, dict[str, Any]]]:
        """Returns names and constraints, without what says how an operand is used."""
        found: list[tuple[str, dict[str, Any]]] = []
        for reference, name in op[what]["args"]:
            constraint = self.of(reference)
            while "OpVariable" in constraint["!superclasses"]:
                constraint = self.of(constraint["constraint"])
            found.append((name or "result", constraint))
        return found

    def traits(self, op: dict[str, Any]) -> list[dict[str, Any]]:
        return [self.of(trait) for trait in op["traits"]]


def is_a(record: dict[str, Any], *classes: str) -> bool:
    return any(c in record["!superclasses"] for c in classes)


def python_name(name: str) -> str:
    """Returns a name as Python writes it: `sourceOffsets` is `source_offsets`, and `async` cannot be one."""
    words = separated(name).lower()
    return words + "_" if keyword.iskeyword(words) else words


def separated(name: str) -> str:
    """Returns a name with underscores between its words."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)


class Generator:
    """Writes a function for each operation, and the tables that they need."""

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions
        self._words: dict[str, str] = {}
        """The types of the words of enumerations."""
        self._tables: dict[str, str] = {}
        """The numbers of these words, where MLIR writes numbers."""

    def module(self) -> str:
        functions = [self._function(op).text() for op in self._definitions.front_end()]
        head = "\n".join([HEAD, *self._words.values()])
        return "\n\n".join([head, *self._tables.values()]) + "\n\n\n" + "\n\n\n".join(functions) + "\n"

    def _function(self, op: dict[str, Any]) -> Function:
        dialect = self._definitions.of(op["opDialect"])["name"]
        mnemonic = op["opName"]
        name = mnemonic if dialect == "tl" else f"{dialect}_{mnemonic}"
        summary = op["summary"].strip().rstrip(".")
        summary = f"`{dialect}.{mnemonic}`: {summary}." if summary else f"`{dialect}.{mnemonic}`."
        out = Function(python_name(name), f"{dialect}.{mnemonic}", summary)
        arguments = self._definitions.arguments(op, "arguments")
        operands = [self._group(n, c) for n, c in arguments if is_a(c, "TypeConstraint")]
        self._add_operands(out, op, operands)
        for attribute, constraint in arguments:
            if not is_a(constraint, "TypeConstraint"):
                self._add_attribute(out, attribute, constraint)
        self._add_results(out, op, operands)
        self._add_regions(out, op)
        out.keywords.sort(key=lambda parameter: parameter.default is not None)
        out.keywords += [
            Parameter("attributes", "dict[str, str] | None", "None"),
            Parameter("location", "Location | None", "None"),
        ]
        return out

    @staticmethod
    def _group(name: str, constraint: dict[str, Any]) -> Group:
        kind = "variadic" if is_a(constraint, "Variadic") else "optional" if is_a(constraint, "Optional") else "one"
        return Group(python_name(name), kind, constraint["!name"])

    # Operands and results ---------------------------------------------------------------------------------------------

    def _add_operands(self, out: Function, op: dict[str, Any], operands: list[Group]) -> None:
        types = {"one": "Value", "optional": "Value | None", "variadic": "Sequence[Value]"}
        defaults = {"one": None, "optional": "None", "variadic": "()"}
        # A default is for what stands behind all that must be given.
        last = max((i for i, operand in enumerate(operands) if operand.kind == "one"), default=-1)
        for i, operand in enumerate(operands):
            default = defaults[operand.kind] if i > last else None
            out.positional.append(Parameter(operand.name, types[operand.kind], default))
        out.operands = gathered(operands)
        has_segments = any("AttrSizedOperandSegments" in t["!name"] for t in self._definitions.traits(op))
        if has_segments:
            counts = {"one": "1", "optional": "int({} is not None)", "variadic": "len({})"}
            sizes = listed("(", [counts[o.kind].format(o.name) for o in operands], ")")
            out.properties.append(listed('"operandSegmentSizes": integers(', [sizes, '"i32"'], ")"))
        elif sum(o.kind != "one" for o in operands) > 1:
            raise ValueError(f"`{out.op}`: nothing says how many operands there are of each kind")

    def _add_results(self, out: Function, op: dict[str, Any], operands: list[Group]) -> None:
        results = [self._group(n, c) for n, c in self._definitions.arguments(op, "results")]
        types: list[Group] = []
        for result in results:
            same = self._same_type(op, result, operands)
            if same is not None:
                types.append(Group(f"{same}.type", "one", ""))
            elif result.constraint in FIXED_TYPES:
                types.append(Group(f'"{FIXED_TYPES[result.constraint]}"', "one", ""))
            elif result.kind == "variadic":
                types.append(Group(f"{result.name}_types".replace("results_types", "result_types"), "variadic", ""))
                out.keywords.append(Parameter(types[-1].name, "Sequence[str]", "()"))
            else:
                types.append(Group(f"{result.name}_type", "one", ""))
                out.keywords.append(Parameter(types[-1].name, "str"))
        out.results = gathered(types)

    def _same_type(self, op: dict[str, Any], result: Group, operands: list[Group]) -> str | None:
        """Returns the operand whose type a result has by a trait."""
        for trait in self._definitions.traits(op):
            names = [python_name(v) for v in trait["values"]] if is_a(trait, "AllTypesMatch") else []
            if result.name in names:
                return next((o.name for o in operands if o.kind == "one" and o.name in names), None)
        return None

    def _add_regions(self, out: Function, op: dict[str, Any]) -> None:
        regions: list[Group] = []
        for name, constraint in self._definitions.arguments(op, "regions"):
            kind = "variadic" if is_a(constraint, "VariadicRegion") else "one"
            regions.append(Group(python_name(name), kind, ""))
            one = Parameter(regions[-1].name, "Block")
            any_number = Parameter(regions[-1].name, "Sequence[Block]", "()")
            out.keywords.append(one if kind == "one" else any_number)
        out.regions = gathered(regions)

    # Attributes -------------------------------------------------------------------------------------------------------

    def _add_attribute(self, out: Function, name: str, constraint: dict[str, Any]) -> None:
        parameter = python_name(name)
        if constraint["!name"] == "UnitAttr":
            out.keywords.append(Parameter(parameter, "bool", "False"))
            out.conditional += [f"if {parameter}:", f'    properties["{name}"] = ""']
            return
        is_optional = is_a(constraint, "OptionalAttr", "DefaultValuedAttr", "DefaultValuedOptionalAttr")
        while constraint["baseAttr"] is not None:
            constraint = self._definitions.of(constraint["baseAttr"])
        kind, written = self._attribute(constraint, parameter)
        if is_optional:
            out.keywords.append(Parameter(parameter, f"{kind} | None", "None"))
            out.conditional += [f"if {parameter} is not None:", f'    properties["{name}"] = {written}']
        else:
            out.keywords.append(Parameter(parameter, kind))
            out.properties.append(f'"{name}": {written}')

    def _attribute(self, constraint: dict[str, Any], value: str) -> tuple[str, str]:
        """Returns the type of an attribute in Python, and the expression for its text in MLIR."""
        if constraint["!name"] == "DenseI64ArrayAttr":
            return "Sequence[int]", f"integers({value})"
        if is_a(constraint, "EnumAttr"):  # of a dialect, which writes it in words
            words = self._literal(self._definitions.of(constraint["enum"]))
            dialect = self._definitions.of(constraint["dialect"])["name"]
            mnemonic = constraint["mnemonic"]
            is_bracketed = constraint["assemblyFormat"].startswith("`<`")
            text = f"{dialect}.{mnemonic}<{{{value}}}>" if is_bracketed else f"{dialect}<{mnemonic} {{{value}}}>"
            return words, f'f"#{text}"'
        if is_a(constraint, "IntEnumAttr"):
            return self._literal(constraint), f"{self._numbers(constraint)}[{value}]"
        if is_a(constraint, "TypedArrayAttrBase"):
            _, written = self._attribute(self._definitions.of(constraint["elementAttr"]), "item")
            items = value if written == "item" else f"{written} for item in {value}"
            return "Sequence[str]", f"f\"[{{', '.join({items})}}]\""
        if is_a(constraint, "TypedSignlessIntegerAttrBase"):
            return "int", f'f"{{{value}}} : {constraint["valueType"]["def"].lower()}"'
        if constraint["!name"] in ("StrAttr", "SymbolNameAttr"):
            return "str", f"quote({value})"
        return "str", value

    def _literal(self, enumeration: dict[str, Any]) -> str:
        """Returns the name of the type of an enumeration's words; of those that can be combined any text."""
        if is_a(enumeration, "BitEnumBase"):
            return "str"
        name = enumeration["className"]
        words = [f'"{self._definitions.of(case)["str"]}"' for case in enumeration["enumerants"]]
        self._words[name] = listed(f"{name} = Literal[", words, "]").replace("\n", "\n    ").join(("    ", ""))
        return name

    def _numbers(self, enumeration: dict[str, Any]) -> str:
        """Returns the name of the table of an enumeration's words as MLIR's generic form writes them."""
        name = f"_{separated(enumeration['className']).upper()}"
        cases = [self._definitions.of(case) for case in enumeration["enumerants"]]
        kind = enumeration["valueType"]["def"].lower()
        entries = "".join(f'    "{c["str"]}": "{c["value"]} : {kind}",\n' for c in cases)
        self._tables[name] = f"{name}: dict[{enumeration['className']}, str] = {{\n{entries}}}"
        return name


def gathered(groups: list[Group]) -> str:
    """Returns the expression for all values of the groups, one after the other."""
    if len(groups) == 1 and groups[0].kind == "variadic":
        return groups[0].name
    items = {"one": "{}", "optional": "*(() if {0} is None else ({0},))", "variadic": "*{}"}
    texts = [items[group.kind].format(group.name) for group in groups]
    return f"({texts[0]},)" if len(texts) == 1 else listed("(", texts, ")")


def main() -> None:
    source, target = map(Path, sys.argv[1:])
    definitions = Definitions(json.loads(source.read_text(encoding="utf-8")))
    target.write_text(Generator(definitions).module(), encoding="utf-8")


if __name__ == "__main__":
    main()
