"""Colours for MLIR, which Pygments does not know."""

from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text


class MLIRLexer(RegexLexer):
    """Enough of MLIR's syntax to read it: comments, values, operations, attributes, types."""

    name = "MLIR"
    aliases: ClassVar = ["mlir"]
    filenames: ClassVar = ["*.mlir"]
    tokens: ClassVar = {
        "root": [
            (r"//.*?$", Comment.Single),
            (r"\s+", Text),
            (r'"(?:[^"\\]|\\.)*"', String),
            (r"%[\w$.#-]+", Name.Variable),
            (r"@[\w$.-]+", Name.Function),
            (r"\^\w+", Name.Label),
            (r"[#!][\w.$-]+", Name.Decorator),
            (r"\b(?:memref|tensor|vector|tuple)\b", Keyword.Type),
            (r"\b(?:[sui]\d+|i\d+|bf16|f16|f32|f64|f8E\w+|tf32|index|none)\b", Keyword.Type),
            (r"(\b\w+)(\.)([\w.]+)", bygroups(Name.Namespace, Punctuation, Keyword)),
            (r"\b0x[0-9A-Fa-f]+\b|-?\b\d+(?:\.\d*)?(?:[eE][-+]?\d+)?", Number),
            (r"[A-Za-z_]\w*", Name),
            (r"->|[=+*/-]", Operator),
            (r".", Punctuation),
        ]
    }


def setup(app):
    app.add_lexer("mlir", MLIRLexer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
