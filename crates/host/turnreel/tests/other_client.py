"""A client of the server over the library `websockets`: address and token are its arguments; it ends with 0 where all is well."""

import asyncio
import json
import sys

import websockets

url, token = sys.argv[1], sys.argv[2]
address = url.replace("http://", "ws://") + "/api/v1/ws"

def connect(**more):
    return websockets.connect(address, subprotocols=["turnreel.v1", "tr.tok." + token], **more)

async def closes_with(what, code, send):
    async with connect() as socket:
        await send(socket)
        try:
            while True:
                await asyncio.wait_for(socket.recv(), 10)
        except websockets.ConnectionClosed as closed:
            got = closed.rcvd.code if closed.rcvd else None
            assert got == code, f"{what}: closed with {got}, expected {code}"

async def main():
    async with connect(compression="deflate") as socket:
        assert socket.subprotocol == "turnreel.v1", socket.subprotocol
        await socket.send(json.dumps({"op": "open", "sub": 1, "session": "s1", "after": 0}))
        hello = json.loads(await asyncio.wait_for(socket.recv(), 10))
        assert hello["op"] == "hello", hello
        # A message in pieces, with a ping between them.
        async def pieces():
            for piece in ['{"op":"pi', 'ng","n":', "7}"]:
                yield piece
                pong = await socket.ping()
                await asyncio.wait_for(pong, 10)
        await socket.send(pieces())
        pong = json.loads(await asyncio.wait_for(socket.recv(), 10))
        while pong["op"] != "pong":
            pong = json.loads(await asyncio.wait_for(socket.recv(), 10))
        assert pong["n"] == 7, pong
    assert socket.close_code == 1000, socket.close_code
    async def binary(socket): await socket.send(b"\x01\x02")
    await closes_with("binary", 1003, binary)
    async def long(socket): await socket.send("x" * 70000)
    await closes_with("too long", 1009, long)
    async def bad(socket):
        for _ in range(10): await socket.send("[1]")
    await closes_with("ten bad frames", 1008, bad)
    # Bytes that the library itself would not send: head, length with the mask's bit, a mask of zeros, and the text.
    async def raw(socket, head, data):
        socket.transport.write(bytes([head, 0x80 | len(data), 0, 0, 0, 0]) + data)
    await closes_with("no utf-8", 1007, lambda socket: raw(socket, 0x81, b"\xff\xfe"))
    await closes_with("a reserved bit", 1002, lambda socket: raw(socket, 0xC1, b"{}"))
    await closes_with("a piece of nothing", 1002, lambda socket: raw(socket, 0x80, b"{}"))
    await closes_with("an unknown kind", 1002, lambda socket: raw(socket, 0x83, b"{}"))
    for code in (1000, 1001, 3000, 4000):
        async with connect() as socket:
            await socket.close(code, "bye")
        assert socket.close_code == code, (code, socket.close_code)
    try:
        async with websockets.connect(address, subprotocols=["turnreel.v1", "tr.tok.wrong"]):
            raise AssertionError("a wrong token opens a socket")
    except websockets.InvalidStatus as refused:
        assert refused.response.status_code == 401, refused
    print("all as it should be")

asyncio.run(main())
