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
        lines = (mounts or MOUNTS).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    place = Path(path).resolve()
    found: tuple[int, str] | None = None
    for line in lines:
        before, separator, after = line.partition(" - ")
        fields = before.split(" ")
        if not separator or len(fields) < 5 or not after:
            continue
        mount = Path(_OCTAL.sub(lambda octal: chr(int(octal[1], 8)), fields[4]))
        # A later line covers an earlier one at the same place.
        if place.is_relative_to(mount) and (found is None or len(mount.parts) >= found[0]):
            found = len(mount.parts), after.split(" ")[0]
    return found[1] if found and _NETWORK.fullmatch(found[1]) else None
