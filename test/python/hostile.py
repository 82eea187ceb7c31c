"""What an enemy needs: BLAKE3, to reseal a manifest that was changed, and servers that say anything."""

from __future__ import annotations

import functools
import hashlib
import http.server
import json
import socketserver
import struct
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_IV = [0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19]
_ORDER = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8]
_START, _END, _PARENT, _ROOT = 1, 2, 4, 8


def _compress(cv: list[int], block: bytes, counter: int, size: int, flags: int) -> list[int]:
    words = list(struct.unpack("<16I", block.ljust(64, b"\0")))
    v = [*cv, *_IV[:4], counter & 0xFFFFFFFF, counter >> 32, size, flags]

    def turn(x: int, n: int) -> int:
        return (x >> n | x << (32 - n)) & 0xFFFFFFFF

    def mix(a: int, b: int, c: int, d: int, x: int, y: int) -> None:
        for word, first, second in ((x, 16, 12), (y, 8, 7)):
            v[a] = (v[a] + v[b] + word) & 0xFFFFFFFF
            v[d] = turn(v[d] ^ v[a], first)
            v[c] = (v[c] + v[d]) & 0xFFFFFFFF
            v[b] = turn(v[b] ^ v[c], second)

    for round_ in range(7):
        for i, (a, b, c, d) in enumerate(
            (
                (0, 4, 8, 12),
                (1, 5, 9, 13),
                (2, 6, 10, 14),
                (3, 7, 11, 15),
                (0, 5, 10, 15),
                (1, 6, 11, 12),
                (2, 7, 8, 13),
                (3, 4, 9, 14),
            )
        ):
            mix(a, b, c, d, words[2 * i], words[2 * i + 1])
        if round_ < 6:
            words = [words[i] for i in _ORDER]
    return [v[i] ^ v[i + 8] for i in range(8)]


@functools.cache  # in Python it takes seconds for a megabyte, and most forgeries have files that others have
def blake3(data: bytes) -> str:
    """Returns a digest as `b3sum` prints it."""

    def leaf(chunk: bytes, counter: int, root: int) -> list[int]:
        cv = _IV
        blocks = [chunk[i : i + 64] for i in range(0, len(chunk), 64)] or [b""]
        for i, block in enumerate(blocks):
            last = i == len(blocks) - 1
            flags = (_START if i == 0 else 0) | (_END | root if last else 0)
            cv = _compress(cv, block, counter, len(block), flags)
        return cv

    def tree(chunks: list[bytes], first: int, root: int) -> list[int]:
        if len(chunks) == 1:
            return leaf(chunks[0], first, root)
        half = 1 << (len(chunks) - 1).bit_length() - 1
        both = tree(chunks[:half], first, 0) + tree(chunks[half:], first + half, 0)
        return _compress(_IV, struct.pack("<16I", *both), 0, 64, _PARENT | root)

    chunks = [data[i : i + 1024] for i in range(0, len(data), 1024)] or [b""]
    return struct.pack("<8I", *tree(chunks, 0, _ROOT)).hex()


class Forgery:
    """An entry as its key's owner would have written it, with other contents: sealed, and all digests right."""

    def __init__(self, path: Path) -> None:
        self.key = path.name
        self.record: dict[str, Any] = json.loads((path / "manifest.json").read_text())
        self.record.pop("seal")
        self.files = {f.name: f.read_bytes() for f in path.iterdir() if f.name != "manifest.json"}
        self.sizes: dict[str, int] = {}
        """What the manifest says of a file's size, if that is not its size."""
        self.text: str | None = None
        """The manifest without its seal, if it is not made of the record."""

    def manifest(self) -> str:
        self.record["files"] = [
            {"digest": blake3(content), "name": name, "size": self.sizes.get(name, len(content))}
            for name, content in sorted(self.files.items())
        ]
        body = self.text or json.dumps(self.record, indent=2, sort_keys=True, ensure_ascii=False)[: -len("\n}")]
        return f'{body},\n  "seal": "{blake3(body.encode())}"\n}}\n'

    def write(self, root: Path, mode: int = 0o700) -> None:
        """Puts it into a directory, in place of what is there."""
        place = root / "v1" / self.key[:2] / self.key
        place.mkdir(parents=True, exist_ok=True)
        for name, content in {**self.files, "manifest.json": self.manifest().encode()}.items():
            (place / name).unlink(missing_ok=True)
            (place / name).write_bytes(content)
        for directory in (root, root / "v1", place.parent, place):
            directory.chmod(mode)

    def bundle(self) -> bytes:
        text = self.manifest().encode()
        body = b"tl-cache bundle 1\nentry %d\n%s" % (len(text), text)
        body += b"".join(content for _, content in sorted(self.files.items()))
        return body + f"end 1 {blake3(body)}\n".encode()

    def blobs(self) -> dict[str, bytes]:
        """Returns what a server holds, by `ac/key` and `cas/digest`."""
        names = [hashlib.sha256(content).hexdigest() for _, content in sorted(self.files.items())]
        record = "tl-cache-record 1\n" + "".join(f"blob {name}\n" for name in names) + "\n" + self.manifest()
        held = {f"cas/{name}": content for name, (_, content) in zip(names, sorted(self.files.items()), strict=True)}
        return {**held, f"ac/{self.key}": record.encode()}


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    blobs: dict[str, bytes]
    headers: list[dict[str, str]]


class _HTTP(http.server.BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        self.server.headers.append(dict(self.headers))
        content = self.server.blobs.get(self.path.lstrip("/"))
        self.send_response(404 if content is None else 200)
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content or b"")

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(403)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class _Redis(socketserver.StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        while line := self.rfile.readline():
            words: list[bytes] = []
            for _ in range(int(line[1:])):
                size = int(self.rfile.readline()[1:])
                words.append(self.rfile.read(size + 2)[:-2])
            name = words[1].decode(errors="replace").removeprefix("tl:").replace(":", "/") if len(words) > 1 else ""
            content = self.server.blobs.get(name)
            if words[0] == b"GET":
                self.wfile.write(b"$-1\r\n" if content is None else b"$%d\r\n%s\r\n" % (len(content), content))
            elif words[0] == b"EXISTS":
                self.wfile.write(b":%d\r\n" % (content is not None))
            else:
                self.wfile.write(b"-NOPERM no\r\n")


def serve(kind: str, blobs: dict[str, bytes]) -> Iterator[tuple[str, _Server]]:
    """Yields the URL of a server of HTTP or Redis that holds these blobs, and the server."""
    with _Server(("127.0.0.1", 0), _HTTP if kind == "http" else _Redis) as server:
        server.blobs, server.headers = blobs, []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"{kind}://127.0.0.1:{server.server_address[1]}", server
        server.shutdown()
