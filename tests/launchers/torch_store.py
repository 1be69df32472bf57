# SPDX-License-Identifier: BSD-3-Clause
"""What PyTorch's TCPStore answers to the queries that weft sends. Prints its port, and serves."""
import socketserver
import struct
import sys
import threading

values = {}
changed = threading.Condition()


class Client(socketserver.BaseRequestHandler):
    def take(self, count):
        data = b""
        while len(data) < count:
            piece = self.request.recv(count - len(data))
            if not piece:
                raise ConnectionError
            data += piece
        return data

    def number(self):
        return struct.unpack("=Q", self.take(8))[0]

    def text(self):
        return self.take(self.number())

    def handle(self):
        try:
            assert self.take(5) == struct.pack("=BI", 0, 0x3C85F7CE)
            while True:
                self.answer(self.take(1)[0])
        except ConnectionError:
            pass

    def answer(self, query):
        if query == 13:
            self.request.sendall(self.take(4))
        elif query == 1:
            key, value = self.text(), self.text()
            with changed:
                values[key] = value
                changed.notify_all()
        elif query == 6:
            keys = [self.text() for _ in range(self.number())]
            with changed:
                changed.wait_for(lambda: all(k in values for k in keys))
            self.request.sendall(b"\0")
        elif query == 3:
            value = values[self.text()]
            self.request.sendall(struct.pack("=Q", len(value)) + value)
        elif query == 8:
            with changed:
                gone = values.pop(self.text(), None) is not None
            self.request.sendall(struct.pack("=q", gone))
        else:
            raise AssertionError(f"query {query}")


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


with Server(("127.0.0.1", 0), Client) as server:
    print(server.server_address[1])
    sys.stdout.flush()
    server.serve_forever()
