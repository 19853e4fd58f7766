#!/usr/bin/env python3
"""Checks the documentation comments of all crates as `cargo doc` does, with warnings as errors.

`cargo doc` would compile every dependency again, only to check it. Here rustdoc gets the libraries that the tests were built with.
Usage: check-rustdoc.py CARGO-ARGUMENT..., which select packages and features of that build."""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys


def cargo(*arguments):
    return subprocess.run(["cargo", *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout


def build(arguments):
    """By the id of a package, its library and its features, and the directories of native libraries."""
    files, features, native = {}, {}, []
    for line in cargo("build", "--message-format=json-render-diagnostics", "--quiet", *arguments).splitlines():
        message = json.loads(line)
        if message["reason"] == "build-script-executed":
            native += message["linked_paths"]
        if message["reason"] != "compiler-artifact" or message["target"]["kind"] == ["custom-build"]:
            continue
        package = message["package_id"]
        # A package that build scripts need too may be built twice. What programs see has more features.
        if package in features and len(message["features"]) < len(features[package]):
            continue
        features[package] = message["features"]
        file = [name for name in message["filenames"] if name.endswith(".rlib" if "proc-macro" not in message["target"]["kind"] else ".so")]
        if file:
            files[package] = file[0]
    return files, features, native


def document(package, target, externs, features, native, output, libraries):
    command = ["rustdoc", "--edition", target["edition"], "--crate-name", target["name"].replace("-", "_"), target["src_path"],
               "--crate-type", "lib" if target["kind"][0] == "lib" else "bin", "--out-dir", str(output), "-D", "warnings",
               "-L", f"dependency={libraries}", *externs]
    for path in native:
        command += ["-L", path]
    for feature in features:
        command += ["--cfg", f'feature="{feature}"']
    if target["kind"][0] == "bin":
        command.append("--document-private-items")
    environment = os.environ | {f"CARGO_PKG_{key.upper()}": str(package[key] or "") for key in ("name", "version", "description", "repository")}
    environment |= {"CARGO_MANIFEST_DIR": str(pathlib.Path(package["manifest_path"]).parent), "CARGO_CRATE_NAME": target["name"].replace("-", "_")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    return f"{package['name']}, {target['name']}:\n{done.stderr}" if done.returncode else None


def main(arguments):
    metadata = json.loads(cargo("metadata", "--format-version=1", "--locked", "--all-features"))
    files, features, native = build(arguments)
    output = pathlib.Path(metadata["target_directory"]) / "doc"
    libraries = pathlib.Path(metadata["build_directory"]) / "debug" / "deps"
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    jobs = []
    for package in metadata["packages"]:
        if package["id"] not in metadata["workspace_members"]:
            continue
        externs = []
        for dependency in nodes[package["id"]]["deps"]:
            if dependency["pkg"] in files:
                externs += ["--extern", f"{dependency['name']}={files[dependency['pkg']]}"]
        for target in package["targets"]:
            if target["kind"][0] not in ("lib", "bin"):
                continue
            own = []
            if target["kind"][0] == "bin" and package["id"] in files:
                library = next(it for it in package["targets"] if it["kind"][0] == "lib")
                own = ["--extern", f"{library['name'].replace('-', '_')}={files[package['id']]}"]
            jobs.append((package, target, externs + own, features[package["id"]], native, output, libraries))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = [problem for problem in pool.map(lambda job: document(*job), jobs) if problem]
    print(f"{len(jobs)} crates documented, {len(problems)} with problems")
    sys.exit("\n".join(problems) if problems else 0)


main(sys.argv[1:])
