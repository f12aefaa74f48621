"""The process that delivers: `python -m benchmarks.load.generator`, driven by benchmarks.load.process.

It reads an Order as a line of JSON, prints "ready", waits for a line, delivers, and prints a Delivered.
"""

import sys

import msgspec
import uvloop

from benchmarks.load.deliver import Order, deliver, made


def main() -> None:
    """Do what the order on stdin says."""
    order = msgspec.json.decode(sys.stdin.readline(), type=Order)
    waiting = made(order.load)
    segments = list(waiting) if order.prepared else waiting
    print("ready", flush=True)
    sys.stdin.readline()
    print(msgspec.json.encode(uvloop.run(deliver(order, segments))).decode(), flush=True)


if __name__ == "__main__":
    main()
