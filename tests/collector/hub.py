"""A small hub for the tests: it keeps what it acknowledges and answers as it is told."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Hub(ThreadingHTTPServer):
    """Listens on a free port of the loopback interface until ``stop``."""

    daemon_threads = True

    def __init__(self, port=0):
        super().__init__(("127.0.0.1", port), Receiver)
        self.bodies: list[bytes] = []
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.answers: list[tuple[int, dict[str, str], bytes]] = []  # taken one by one; then 200
        self.drops = False  # closes each connection after its answer unannounced, as servers do with idle ones
        self.arrived = threading.Condition()
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def answer(self, status, body=b"", **headers):
        self.answers.append((status, {key.replace("_", "-"): value for key, value in headers.items()}, body))

    def wait_for(self, requests, timeout_s=10.0):
        """Waits until so many requests have come; returns the bodies that were acknowledged."""
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.requests) >= requests, timeout_s), len(self.requests)
            return list(self.bodies)

    def stop(self):
        self.shutdown()
        self.thread.join()
        self.server_close()


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status, headers, answer = self.server.answers.pop(0) if self.server.answers else (200, {}, b"")
        with self.server.arrived:
            self.server.requests.append((self.path, dict(self.headers)))
            if status == 200:
                self.server.bodies.append(body)
            self.server.arrived.notify_all()
        if status == 0:  # hangs up without an answer
            self.close_connection = True
            return
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
        self.close_connection = self.server.drops

    def log_message(self, *_):
        pass
