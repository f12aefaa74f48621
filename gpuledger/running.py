"""What `up`, `serve`, `demo` and `collect` share: logging, the address, and threads beside a hub."""

import logging
import sys

import msgspec

from gpuledger.settings import Settings


def log_to_stderr() -> None:
    """Sends the log to stderr, one line an entry; under systemd the journal adds time and unit."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s", force=True
    )
    # It tells of its start and stop once a door; the hub says where it listens itself.
    logging.getLogger("uvicorn").setLevel(logging.WARNING)


def with_address(settings: Settings, host: str | None, port: int | None) -> Settings:
    """Returns the settings with the address given on the command line."""
    chosen: dict[str, object] = {}
    if host is not None:
        chosen["host"] = host
    if port is not None:
        chosen["port"] = port
    return msgspec.structs.replace(settings, hub=msgspec.structs.replace(settings.hub, **chosen))
