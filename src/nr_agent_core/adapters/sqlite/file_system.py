"""
Where a database file lies: locks and shared memory do not hold across machines.

Without pathlib, which nothing else here needs and which costs as much to import as all of sqlite3.
"""

import os
import re

MOUNTS = "/proc/self/mountinfo"

_NETWORK = (
    r"nfs\d*|cifs|smb\w*|9p|virtiofs|vboxsf|vmhgfs|prl_fs|drvfs|ceph|glusterfs|lustre|beegfs|gpfs|afs|coda|ncpfs|orangefs"
    r"|ocfs2|gfs2|pvfs2"
    r"|fuse\.(?:sshfs|s3fs|s3ql|rclone|goofys|gcsfuse|blobfuse2?|glusterfs|ceph|davfs2?|vmhgfs-fuse|grpcfuse|osxfs|gvfsd-fuse"
    r"|nfs\w*|smbnetfs|curlftpfs|juicefs|seaweedfs|prl_fsd|portal)"
)
_OCTAL = r"\\([0-7]{3})"


class NetworkFileSystemWarning(UserWarning):
    """
    The store's file lies on a file system that other machines may share. Nothing was written yet.
    """


def network_file_system(path: str, mounts: str | os.PathLike[str] | None = None) -> str | None:
    """
    The type of the file system that holds *path*, if it is one that reaches other machines.

    Args:
        path: the file; it need not exist.
        mounts: what lists the mounts, in the form of ``/proc/self/mountinfo``. A machine that has
            no such list says nothing, and neither does this.
    """
    if mounts is not None:
        return _listed(mounts, path)
    try:
        device = MOUNTS, os.stat(os.path.dirname(path) or ".").st_dev  # noqa: PTH116, PTH120 - see above
    except OSError:
        return _listed(MOUNTS, path)
    if device not in _devices:
        _devices[device] = _listed(MOUNTS, path)
    return _devices[device]


_devices: dict[tuple[str, int], str | None] = {}
"""What the list of mounts said of each device, once: reading it costs as much as opening a database."""


def _listed(mounts: str | os.PathLike[str], path: str) -> str | None:
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123 - see above
            lines = file.read().splitlines()
    except OSError:
        return None
    place, depth, kind = f"{os.path.realpath(path)}/", 0, ""
    for line in lines:
        before, separator, after = line.partition(" - ")
        fields = before.split(" ", 5)
        if not separator or len(fields) < 5 or not after:
            continue
        mount = fields[4]
        if "\\" in mount:
            mount = re.sub(_OCTAL, lambda octal: chr(int(octal[1], 8)), mount)
        mount = mount.rstrip("/") + "/"
        # A later line covers an earlier one at the same place.
        if place.startswith(mount) and len(mount) >= depth:
            depth, kind = len(mount), after.split(" ", 1)[0]
    return kind if re.fullmatch(_NETWORK, kind) else None
