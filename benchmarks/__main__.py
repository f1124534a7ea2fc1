"""`python -m benchmarks NAME [arguments]`: run one benchmark, or list them.

A benchmark is a file of this folder with `main(arguments) -> int`; the first line of its docstring describes it here.
Only the one that is named is imported.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import sys
from pathlib import Path

__all__ = ["available", "main"]


def available() -> dict[str, str]:
    """Return the benchmarks of this folder, each with the first line of its docstring, read without importing it."""
    found = {}
    for source in sorted(Path(__file__).parent.glob("*.py")):
        tree = ast.parse(source.read_text(encoding="utf-8"))
        is_benchmark = any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body)
        if is_benchmark and not source.stem.startswith("_"):
            found[source.stem] = (ast.get_docstring(tree) or "").partition("\n")[0]
    return found


def main(arguments: list[str]) -> int:
    """Run the benchmark that the first argument names, with the rest of the arguments."""
    benchmarks = available()
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: python -m benchmarks NAME [arguments]\n")
        for name, line in benchmarks.items():
            print(f"  {name:<16} {line}")
        return 0
    name = arguments[0]
    if name not in benchmarks:
        close = difflib.get_close_matches(name, benchmarks, n=1)
        hint = f"; did you mean {close[0]}?" if close else f": there are {', '.join(benchmarks) or 'none'}"
        print(f"no benchmark {name!r}{hint}", file=sys.stderr)
        return 2
    result: int = importlib.import_module(f"benchmarks.{name}").main(arguments[1:])
    return result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
