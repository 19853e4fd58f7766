#!/usr/bin/env python3
"""Which crates the program is made of, by the sizes of their symbols, and what the HTTP client has of it.

    CARGO_PROFILE_RELEASE_STRIP=none cargo build --release -p uwf --target-dir target/unstripped
    bench/share.py target/unstripped/release/uwf

A generic function of the standard library counts for the crate its first type argument is from. Symbols are code and
data; tables for unwinding, which come on top, grow with them. With --client, prints the bytes of the HTTP client alone.
"""

import collections
import re
import subprocess
import sys

CLIENT = {
    "http", "httparse", "httpdate", "ring", "rustls", "rustls_pki_types", "untrusted", "ureq", "ureq_proto", "uwf_llm",
    "webpki", "webpki_roots",
}
STANDARD = {"alloc", "core", "std"}
# ring's functions in C and assembler have names without a path.
RING = re.compile(r"ring_core|p256|p384|x25519|aes_|gcm_|chacha20|bn_|sha\d|fiat_|ecp_|poly1305|bignum|LIMB")


def crate_of(symbol):
    named = re.findall(r"(?:^|[<& (])([a-z_][a-z0-9_]*)::", symbol)
    if not named:
        return "ring" if RING.match(symbol) else "C and assembler"
    return next((name for name in named if name not in STANDARD), named[0])


def sizes_by_crate(program):
    listing = subprocess.run(["nm", "-S", "-C", program], check=True, capture_output=True, text=True).stdout
    sizes = collections.Counter()
    for line in listing.splitlines():
        fields = line.split(" ", 3)
        if len(fields) == 4 and re.fullmatch(r"[0-9a-f]{16}", fields[1]):
            sizes[crate_of(fields[3])] += int(fields[1], 16)
    if not sizes:
        sys.exit(f"{program} has no symbols: build it with CARGO_PROFILE_RELEASE_STRIP=none")
    return sizes


def main(program, only_client):
    sizes = sizes_by_crate(program)
    client = sum(size for crate, size in sizes.items() if crate in CLIENT)
    if only_client:
        print(client)
        return
    for crate, size in sizes.most_common(25):
        print(f"{size / 1e6:8.3f} MB  {crate}")
    print(f"{sum(sizes.values()) / 1e6:8.3f} MB  all symbols")
    print(f"{client / 1e6:8.3f} MB  of them the HTTP client: {', '.join(sorted(CLIENT & sizes.keys()))}")


if __name__ == "__main__":
    if len(sys.argv) != 2 and sys.argv[2:] != ["--client"]:
        sys.exit(__doc__)
    main(sys.argv[1], only_client=len(sys.argv) > 2)
