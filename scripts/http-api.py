"""Writes what is published of the HTTP API: docs/reference/openapi.json, and the paths in docs/reference/http-api.md.

    python3 scripts/http-api.py target/debug/uwf            # writes both
    python3 scripts/http-api.py target/debug/uwf --check    # says whether they are current

Both are made from what the program says of itself (`uwf api GET /openapi.json`). A test checks them.
"""

import json
import pathlib
import subprocess
import sys

BEGIN, END = "<!-- made by scripts/http-api.py -->\n", "<!-- end -->\n"


def description(program):
    """What the program says of its API."""
    printed = subprocess.run([program, "api", "GET", "/openapi.json"], check=True, capture_output=True, text=True)
    return json.loads(printed.stdout)


def meaning(field):
    """What a field or a parameter means, with the values it can have."""
    values = (field.get("schema") or field).get("enum")
    return f"{field['description']} One of {', '.join(values)}." if values else field["description"]


def sections(document):
    """The paths as Markdown: a table of what can be read, then one of the changes; what all changes have, the page says once."""
    operations = [(path, *of) for path, item in document["paths"].items() for of in item.items()]
    yield "| GET | query | |\n|---|---|---|\n"
    for path, operation in [(path, operation) for path, method, operation in operations if method == "get"]:
        command = operation.get("description", "").removeprefix("The report of ").rstrip(".")
        yield f"| `{path}` | | {operation['summary']}{f' {command}' if command else ''} |\n"
        for parameter in operation["parameters"]:
            if parameter["in"] == "query":
                yield f"| | `{parameter['name']}` | {meaning(parameter)} |\n"
    yield "\n| POST | field | |\n|---|---|---|\n"
    for path, operation in [(path, operation) for path, method, operation in operations if method == "post"]:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        yield f"| `{path}` | | {operation['summary']} |\n"
        for name, field in schema["properties"].items():
            if name not in ("expectedHead", "wait"):
                yield f"| | `{name}` | {meaning(field)} |\n"


def main():
    root = pathlib.Path(__file__).resolve().parent.parent / "docs/reference"
    document = description(sys.argv[1])
    page = root / "http-api.md"
    before, rest = page.read_text().split(BEGIN)
    after = rest.split(END)[1]
    made = {
        root / "openapi.json": json.dumps(document, indent=2, ensure_ascii=False) + "\n",
        page: before + BEGIN + "".join(sections(document)) + END + after,
    }
    if "--check" not in sys.argv:
        for path, text in made.items():
            path.write_text(text)
        return
    stale = [path.name for path, text in made.items() if not path.exists() or path.read_text() != text]
    if stale:
        sys.exit(f"{', '.join(stale)}: out of date; run: python3 scripts/http-api.py target/debug/uwf")


main()
