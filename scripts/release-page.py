"""Serves the files of a release on loopback for scripts/check-installs.sh, with the faults of a network.

Usage: release-page.py DIST VERSION PORT-FILE

The first part of a path says how the files arrive:

    /whole/…   complete
    /wrong/…   the last byte of each archive is another one
    /cut/…     the connection ends after half of an archive
    /slow/…    the second half of an archive never arrives
    /npm/…     the npm packages, as a registry serves them

After it, the paths are those of GitHub: latest/download/FILE and download/vVERSION/FILE.
"""

import base64
import hashlib
import http.server
import io
import json
import pathlib
import sys
import tarfile
import time
import urllib.parse

DIST, VERSION, PORT_FILE = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        mode, _, path = urllib.parse.unquote(self.path).lstrip("/").partition("/")
        if mode == "npm":
            body = self.npm(path)
        elif mode in ("whole", "wrong", "cut", "slow") and path.startswith(("latest/download/", f"download/v{VERSION}/")):
            body = self.file(path)
        else:
            body = None
        if body is None:
            self.send_error(404)
            return
        is_archive = path.endswith(".tar.gz")
        if mode == "wrong" and is_archive:
            body = body[:-1] + bytes([body[-1] ^ 1])
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if mode in ("cut", "slow") and is_archive:
            self.wfile.write(body[: len(body) // 2])
            if mode == "slow":
                time.sleep(60)
            self.close_connection = True
        else:
            self.wfile.write(body)

    @staticmethod
    def file(path):
        file = DIST / path.rsplit("/", 1)[1]
        return file.read_bytes() if file.is_file() else None

    def npm(self, path):
        """A packed file, or the document that names the versions of a package."""
        if path.endswith(".tgz"):
            return self.file("/" + path)
        file = DIST / f"{path.lstrip('@').replace('/', '-')}-{VERSION}.tgz"
        if not file.is_file():
            return None
        packed = file.read_bytes()
        with tarfile.open(fileobj=io.BytesIO(packed)) as package:
            manifest = json.load(package.extractfile("package/package.json"))
        digest = base64.b64encode(hashlib.sha512(packed).digest()).decode()
        host = self.headers["Host"]
        manifest["dist"] = {"tarball": f"http://{host}/npm/{file.name}", "integrity": f"sha512-{digest}"}
        return json.dumps({"name": path, "dist-tags": {"latest": VERSION}, "versions": {VERSION: manifest}}).encode()

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A client that hangs up is part of the test."""


server = Server(("127.0.0.1", 0), Handler)
PORT_FILE.with_suffix(".new").write_text(str(server.server_port))
PORT_FILE.with_suffix(".new").rename(PORT_FILE)
server.serve_forever()
