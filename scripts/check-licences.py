#!/usr/bin/env python3
"""Fails when a dependency has a licence that is not on the list below.

Reads `cargo metadata`; a licence expression passes when one of its alternatives (OR, `/`) is allowed as a whole (AND).
"""

import json
import re
import subprocess
import sys

ALLOWED = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",  # a list of root certificates is data
    "ISC",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
}


def passes(expression):
    alternatives = re.split(r"\s+OR\s+|/", expression.replace("(", " ").replace(")", " ").strip())
    return any(all(part.strip() in ALLOWED for part in re.split(r"\s+AND\s+", option)) for option in alternatives)


def main():
    metadata = json.loads(subprocess.check_output(["cargo", "metadata", "--format-version", "1", "--locked"]))
    refused = [
        f"{package['name']} {package['version']}: {package.get('license') or 'no licence given'}"
        for package in metadata["packages"]
        if not passes(package.get("license") or "")
    ]
    for line in refused:
        print(f"licence not allowed: {line}", file=sys.stderr)
    print(f"{len(metadata['packages'])} packages, {len(refused)} refused")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
