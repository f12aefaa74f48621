from tests.factories.fixtures import cur, ledger

__all__ = ["cur", "ledger"]
