"""
Where a database file lies: locks and shared memory do not hold across machines.
"""

import re
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")

_NETWORK = re.compile(
    r"nfs\d*|cifs|smb\w*|9p|virtiofs|vboxsf|vmhgfs|prl_fs|drvfs|ceph|glusterfs|lustre|beegfs|gpfs|afs|coda|ncpfs|orangefs"
    r"|ocfs2|gfs2|pvfs2"
    r"|fuse\.(?:sshfs|s3fs|s3ql|rclone|goofys|gcsfuse|blobfuse2?|glusterfs|ceph|davfs2?|vmhgfs-fuse|grpcfuse|osxfs|gvfsd-fuse"
    r"|nfs\w*|smbnetfs|curlftpfs|juicefs|seaweedfs|prl_fsd|portal)"
)
_OCTAL = re.compile(r"\\([0-7]{3})")


class NetworkFileSystemWarning(UserWarning):
    """
    The store's file lies on a file system that other machines may share. Nothing was written yet.
    """


def network_file_system(path: str, mounts: Path | None = None) -> str | None:
    """
    The type of the file system that holds *path*, if it is one that reaches other machines.

    Args:
        path: the file; it need not exist.
        mounts: what lists the mounts, in the form of ``/proc/self/mountinfo``. A machine that has
            no such list says nothing, and neither does this.
    """
    try:
        device = (mounts or MOUNTS), Path(path).parent.stat().st_dev
    except OSError:
        return _listed(mounts or MOUNTS, path)
    if mounts is not None or device not in _devices:
        _devices[device] = _listed(device[0], path)
    return _devices[device]


_devices: dict[tuple[Path, int], str | None] = {}
"""What the list of mounts said of each device, once: reading it costs as much as opening a database."""


def _listed(mounts: Path, path: str) -> str | None:
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    place, depth, kind = f"{Path(path).resolve()}/", 0, ""
    for line in lines:
        before, separator, after = line.partition(" - ")
        fields = before.split(" ", 5)
        if not separator or len(fields) < 5 or not after:
            continue
        mount = fields[4]
        if "\\" in mount:
            mount = _OCTAL.sub(lambda octal: chr(int(octal[1], 8)), mount)
        mount = mount.rstrip("/") + "/"
        # A later line covers an earlier one at the same place.
        if place.startswith(mount) and len(mount) >= depth:
            depth, kind = len(mount), after.split(" ", 1)[0]
    return kind if _NETWORK.fullmatch(kind) else None
