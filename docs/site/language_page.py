"""The reference of the language: every name of `tilec.language` on one page, made of docstrings.

`docs/language/reference.md` says where the names go. Each has a section with an anchor of its own, `#T.copy`, to which
`T.copy` leads wherever a page writes it as code.
"""

import inspect
import json
import re
from enum import Enum, EnumType
from pathlib import Path

import refusals
from docutils import nodes
from sphinx.transforms import SphinxTransform

import tilec.language as T
from tilec.contents import parse

ROOT = Path(__file__).parents[2]
PAGE = "language/reference"
MARK = "<!-- names of the language -->"
SUPPORT = ROOT / "docs" / "language" / "support.json"
TARGETS = ["cpu", "sm_80", "sm_90a"]


def text() -> str:
    """Returns the page's part that is made of the names, as Markdown."""
    groups = {title: by_object(names) for title, names in parse(T.__doc__ or "").items()}
    support, on_gpus = json.loads(SUPPORT.read_text()), used_on_gpus()
    index = "\n".join(
        f"- **{title}**: " + ", ".join(f"`T.{name}`" for names in found for name in names)
        for title, found in groups.items()
    )
    parts = [index]
    for title, found in groups.items():
        parts.append(f"## {title}")
        if title == "Element types":
            parts.append(element_types(found))
            found = [names for names in found if not isinstance(getattr(T, names[0]), T.DType)]
        parts += [entry(names, support.get(names[0]), on_gpus) for names in found]
    return "\n\n".join(parts) + "\n"


def by_object(names: list[str]) -> list[list[str]]:
    """Returns the names of each thing, in the order of the first."""
    found: dict[int, list[str]] = {}
    for name in names:
        found.setdefault(id(getattr(T, name)), []).append(name)
    return list(found.values())


def element_types(found: list[list[str]]) -> str:
    """Returns a table of the element types."""
    rows = ["| type | also | bits | kind |", "| --- | --- | --- | --- |"]
    for names in found:
        dtype = getattr(T, names[0])
        if isinstance(dtype, T.DType):
            name = dtype.name if dtype.name in names else names[0]
            others = ", ".join(f"`T.{other}`" for other in names if other != name)
            rows.append(f"| `T.{name}` | {others} | {dtype.bits} | {dtype.kind} |")
    return "\n".join(rows)


def entry(names: list[str], support: dict[str, list[str]] | None, on_gpus: dict[str, list[str]]) -> str:
    """Returns the section of one thing."""
    name, *others = names
    value = getattr(T, name)
    parts = [f"### `T.{name}`", fence(f"T.{name}{signature(value)}")]
    if others:
        parts.append("Also " + ", ".join(f"`T.{other}`" for other in others) + ".")
    parts.append(described(inspect.getdoc(value) or ""))
    if refused := refusals.shown(value):
        parts.append(f"**Errors**\n\n{refused}")
    if works := where(support, sorted({t for n in names for t in on_gpus.get(n, [])})):
        parts.append(works)
    return "\n\n".join(parts)


def signature(value: object) -> str:
    """Returns the parameters of a thing, with the types that say something, as a call is written."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    if isinstance(value, EnumType):
        return "." + " | .".join(value.__members__)
    empty = inspect.Parameter.empty
    parameters = []
    for parameter in found.parameters.values():
        kind = str(parameter.annotation).strip("'\"")
        default = "" if parameter.default is empty else f" = {spelled(parameter.default)}"
        kind = empty if parameter.annotation is empty or (kind.endswith("Any") and "[" not in kind) else kind
        parameters.append(parameter.replace(annotation=empty, default=empty))
        shown = str(parameters[-1]) + ("" if kind is empty else f": {kind}")
        parameters[-1] = (parameter.kind, shown + default)
    return f"({', '.join(with_star(parameters))})"


def spelled(default: object) -> str:
    """Returns a default as a program writes it."""
    return f"T.{default}" if isinstance(default, Enum) else repr(default)


def with_star(parameters: list[tuple[object, str]]) -> list[str]:
    """Returns parameters with a `*` before the first that is given by name only."""
    kinds = [kind for kind, _ in parameters]
    texts = [text for _, text in parameters]
    named = inspect.Parameter.KEYWORD_ONLY
    if named in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        texts.insert(kinds.index(named), "*")
    return texts


def fence(code: str) -> str:
    return f"```python\n{code}\n```"


def described(documentation: str) -> str:
    """Returns a docstring as Markdown: its examples as code, with results in comments."""
    lines, code, in_code = [], [], False
    for line in [*documentation.splitlines(), ""]:
        if line.startswith(">>> ") or (in_code and line.startswith("...")):
            in_code = True
            code.append(line[4:])
        elif in_code and line.strip():
            code.append(f"# {line}")
        else:
            if in_code:
                lines += ["", fence("\n".join(code)), ""]
                code, in_code = [], False
            lines.append(line)
    return "\n".join(lines).strip()


def where(support: dict[str, list[str]] | None, tests: list[str]) -> str:
    """Returns the types that the example works with on each target, and the tests that run the name on GPUs."""
    rows = []
    if support:
        rows = ["| | the example works with |", "| --- | --- |"]
        rows += [f"| `{target}` | {', '.join(support[target]) or 'nothing'} |" for target in TARGETS]
    if tests:
        rows += ["", "Used by tests that run on GPUs: " + ", ".join(f"`{test}`" for test in tests) + "."]
    return "\n".join(rows)


def used_on_gpus() -> dict[str, list[str]]:
    """Returns the integration tests that use each name, themselves or by the programs that they import."""
    found: dict[str, list[str]] = {}
    for test in sorted((ROOT / "test" / "integration").glob("test_*.py")):
        program = test.read_text()
        for module in re.findall(r"^(?:from|import) (\w+)", program, flags=re.MULTILINE):
            for folder in (test.parent, ROOT / "test" / "python"):
                if (folder / f"{module}.py").exists():
                    program += (folder / f"{module}.py").read_text()
        for name in sorted(set(re.findall(r"\bT\.(\w+)", program))):
            found.setdefault(name, []).append(test.name)
    return found


class Anchors(SphinxTransform):
    """Gives the section of each name an anchor that is the name: docutils would take `max` and `Max` for one."""

    default_priority = 400

    def apply(self, **_: object) -> None:
        if self.env.docname != PAGE:
            return
        things = [names for found in parse(T.__doc__ or "").values() for names in by_object(found)]
        aliases = {names[0]: names for names in things}
        for section in self.document.findall(nodes.section):
            title = section[0].astext()
            if title.startswith("T."):
                section["ids"] = [f"T.{name}" for name in aliases[title[2:]]]
            elif title == "Element types":
                types = [names for names in things if isinstance(getattr(T, names[0]), T.DType)]
                section["ids"] += [f"T.{name}" for names in types for name in names]


def link_names(app, doctree, docname):
    """Lets `T.copy`, written as code, lead to its section."""
    names = set(parse_names())
    target = app.builder.get_relative_uri(docname, PAGE) if docname != PAGE else ""
    for literal in list(doctree.findall(nodes.literal)):
        found = re.match(r"T\.(\w+)(?![\w.])", literal.astext())
        inside = isinstance(literal.parent, nodes.reference | nodes.title)
        if found and found[1] in names and not inside:
            reference = nodes.reference("", "", literal.deepcopy(), refuri=f"{target}#T.{found[1]}", internal=True)
            literal.parent.replace(literal, reference)


def parse_names() -> list[str]:
    return [name for names in parse(T.__doc__ or "").values() for name in names]


def read(app, docname, source):
    if docname == PAGE:
        source[0] = source[0].replace(MARK, text())


def setup(app):
    app.connect("source-read", read)
    app.connect("doctree-resolved", link_names)
    app.add_transform(Anchors)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
