"""How large a build must be for a model to pass through it: what counts is the disk.

Source: AWS CodeBuild user guide, "Build environment compute modes and types" (on-demand, Linux x86; read in 2026).
"""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import aws_codebuild as codebuild

from decision_provenance.manifest import PackagedFile

from .errors import InvalidArguments

_GB = 10**9
# Disk of each type, smallest first. The verification that follows reads at most about 70 GB: with an archive beside
# them, that is the most a build is of use for.
_DISKS = {
    codebuild.ComputeType.SMALL: 64 * _GB,
    codebuild.ComputeType.MEDIUM: 128 * _GB,
    codebuild.ComputeType.X_LARGE: 256 * _GB,
}
# For the build's own image and code: what of it counts against the disk is not documented.
_RESERVED = 16 * _GB


def compute_type(files: Sequence[PackagedFile], *, archive: bool, what: str) -> codebuild.ComputeType:
    """The smallest type that has room for the files, and for the archive that is made of them.

    `what` is what the refusal calls the construct.

    Examples
    --------
    >>> compute_type(QWEN3_5_4B.files, archive=True, what="ModelPackage Package").name
    'SMALL'
    """
    packaged = sum(file.bytes for file in files)
    # A file is deleted once it is in the archive.
    needed = _RESERVED + packaged + (max(file.bytes for file in files) if archive else 0)
    for kind, disk in _DISKS.items():
        if needed <= disk:
            return kind
    largest = (max(_DISKS.values()) - _RESERVED) / _GB
    raise InvalidArguments(
        what,
        [
            f"packaging takes {(needed - _RESERVED) / _GB:.0f} GB of disk, a build has {largest:.0f}: "
            f"give a smaller quantization{' or leave the archive out' if archive else ''}"
        ],
    )
