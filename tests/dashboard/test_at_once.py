"""Many requests at once, each in a thread of its own: every one gets the answer that it would get alone."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from flask.testing import FlaskClient

from tests.dashboard.pages import Pages
from tests.factories.ledger import Ledger

PATHS = (
    "/api/v1/summary",
    "/api/v1/jobs",
    "/api/v1/jobs/101",
    "/api/v1/findings",
    "/api/v1/nodes",
    "/api/v1/users",
    "/api/v1/recommendations",
    "/api/v1/summary?user=nobody",
)
ROUNDS = 4


def test_eight_threads_read_what_one_reads(pages: Pages, small: Callable[..., Ledger]) -> None:
    """An empty answer by mistake would read as a cluster that nobody uses."""
    small()
    server = pages.app.server

    def asked(path: str) -> tuple[int, bytes]:
        client: FlaskClient = server.test_client()
        answer = client.get(path)
        return answer.status_code, answer.data

    alone = [asked(path) for path in PATHS]
    assert {status for status, _ in alone[:-1]} == {200}
    assert b'"held_gpu_h":30.0' in alone[0][1].replace(b" ", b"")
    with ThreadPoolExecutor(len(PATHS)) as threads:
        for _ in range(ROUNDS):
            assert list(threads.map(asked, PATHS)) == alone
