from tests.factories.fixtures import cur, database, ledger

__all__ = ["cur", "database", "ledger"]
