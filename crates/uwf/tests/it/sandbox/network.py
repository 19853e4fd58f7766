"""Tries every way to the network, and reports each try in the file `report`: `done` or `refused`."""

import json
import os
import socket
import sys
import urllib.error
import urllib.request

sys.stdin.read()
targets = json.load(open("targets.json"))


def attempt(name, way):
    try:
        way()
        result = "done"
    except (OSError, ValueError) as error:
        result = "refused"
        print(name, error, file=sys.stderr)
    with open("report", "a") as report:
        print(name, result, file=report)


def tcp():
    socket.create_connection(("127.0.0.1", targets["port"]), timeout=5).close()


def udp():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.settimeout(2)
        own.sendto(b"hello", ("127.0.0.1", targets["udpPort"]))
        own.recv(100)


def local(address):
    with socket.socket(socket.AF_UNIX) as own:
        own.settimeout(5)
        own.connect(address)


def proxied(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        answer.read()


def tunnel():
    # A program that speaks TLS asks the proxy for a connection.
    host = os.environ["https_proxy"].removeprefix("http://").split(":")
    with socket.create_connection((host[0], int(host[1])), timeout=5) as own:
        own.sendall(f"CONNECT 127.0.0.1:{targets['otherPort']} HTTP/1.1\r\n\r\n".encode())
        answer = own.recv(1000).decode()
        if " 200 " not in answer:
            raise OSError(answer)


attempt("tcp", tcp)
attempt("udp", udp)
attempt("abstract-socket", lambda: local("\0" + targets["abstract"]))
attempt("socket-of-other-thread", lambda: local(targets["socket"]))
attempt("virtual-socket", lambda: socket.socket(40, socket.SOCK_STREAM))
attempt("own-local-sockets", lambda: socket.socketpair())
if "https_proxy" in os.environ:
    attempt("proxied-listed", lambda: proxied(f"http://127.0.0.1:{targets['port']}/"))
    attempt("proxied-unlisted-port", lambda: proxied(f"http://127.0.0.1:{targets['otherPort']}/"))
    attempt("proxied-unlisted-host", lambda: proxied("http://169.254.169.254/latest/meta-data"))
    attempt("proxied-name-of-this-machine", lambda: proxied(f"http://localhost:{targets['port']}/"))
    attempt("proxied-tunnel", tunnel)
    # A listed name must not lead to this machine.
    try:
        proxied("http://localhost.localdomain:80/")
    except (urllib.error.HTTPError, OSError) as error:
        if isinstance(error, urllib.error.HTTPError):
            open("refusal", "w").write(error.read().decode())
print('{"n": 1}')
