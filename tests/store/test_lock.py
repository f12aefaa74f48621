"""Network file systems are refused by the mount table."""

from pathlib import Path

import pytest

from store.errors import StoreError
from store.lock import refuse_network_file_system

MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
40 22 0:30 / /proc rw - proc proc rw
41 22 0:35 / /home rw,relatime shared:9 - nfs4 server:/export/home rw,vers=4.2
42 41 8:2 / /home/local rw,relatime - xfs /dev/sdb1 rw
43 22 0:36 / /with\\040space rw - lustre mds@o2ib:/scratch rw
44 22 0:37 / /stacked rw - nfs server:/a rw
45 44 0:38 / /stacked rw - tmpfs tmpfs rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/home/ann/data", "nfs4"), ("/home", "nfs4"), ("/with space/x", "lustre")],
)
def test_network_file_systems_are_refused(tmp_path: Path, path: str, kind: str) -> None:
    (tmp_path / "mountinfo").write_text(MOUNTS)
    with pytest.raises(StoreError, match=rf"network file system \({kind}\).*local disk"):
        refuse_network_file_system(Path(path), tmp_path / "mountinfo")


@pytest.mark.parametrize("path", ["/var/lib/gpuledger", "/home/local/data", "/stacked/data", "/homework"])
def test_local_ones_are_not(tmp_path: Path, path: str) -> None:
    (tmp_path / "mountinfo").write_text(MOUNTS)
    refuse_network_file_system(Path(path), tmp_path / "mountinfo")


def test_without_a_mount_table_nothing_is_refused(tmp_path: Path) -> None:
    refuse_network_file_system(tmp_path, tmp_path / "none")
