# Ends TLS in front of a server without it, and refuses who has no certificate during the handshake, as Temporal's own server does.
# Usage: terminator.py PORT CERT KEY CLIENTS BACKEND-PORT
import asyncio
import ssl
import sys

port, cert, key, clients, backend = sys.argv[1:]
context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=clients)
context.load_cert_chain(cert, key)
context.verify_mode = ssl.CERT_REQUIRED
context.set_alpn_protocols(["h2"])


async def copy(source, target):
    try:
        while data := await source.read(1 << 16):
            target.write(data)
            await target.drain()
    except (ConnectionError, ssl.SSLError):
        pass
    finally:
        target.close()


async def serve(reader, writer):
    try:
        of_server, to_server = await asyncio.open_connection("127.0.0.1", int(backend))
    except ConnectionError:
        writer.close()
        return
    await asyncio.gather(copy(reader, to_server), copy(of_server, writer))


async def main():
    async with await asyncio.start_server(serve, "127.0.0.1", int(port), ssl=context) as server:
        await server.serve_forever()


asyncio.run(main())
