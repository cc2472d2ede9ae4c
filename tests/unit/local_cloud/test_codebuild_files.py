"""What goes into a build of the local cloud and what comes out: the source archive, and artifacts in S3."""

from __future__ import annotations

import io
import zipfile

from tests.support.builds import BUCKET, Builds, archive, commands, failure_of


def test_a_source_archive_brings_its_buildspec_and_runnable_scripts(builds: Builds) -> None:
    content = archive(
        {"buildspec.yml": "version: 0.2\nphases: {build: {commands: [./run.sh]}}", "run.sh": "#!/bin/sh\necho ran\n"},
        executable="run.sh",
    )

    build = builds.run("", source=builds.s3_source(content))

    assert build["buildStatus"] == "SUCCEEDED"
    assert "ran" in builds.log(build)


def test_a_source_archive_cannot_write_outside_the_build(builds: Builds) -> None:
    content = archive({"buildspec.yml": "version: 0.2", "../../escaped": "x"})

    build = builds.run("", source=builds.s3_source(content))

    assert "'../../escaped', a path outside the source" in failure_of(build)


def test_a_missing_source_fails_the_build_by_name(builds: Builds) -> None:
    build = builds.run("", source={"type": "S3", "location": f"{BUCKET}/absent.zip"})

    assert f"cannot download s3://{BUCKET}/absent.zip" in failure_of(build)


def test_a_source_without_the_named_buildspec_fails_the_build_by_name(builds: Builds) -> None:
    build = builds.run("", source=builds.s3_source(archive({"README.md": "x"})) | {"buildspec": "ci.yml"})

    assert failure_of(build) == ("YAML_FILE_ERROR: the source has no file ci.yml: add it, or name another buildspec")


def test_artifacts_are_uploaded_file_by_file(builds: Builds) -> None:
    build = builds.run(
        {
            **commands("mkdir -p out/deep", "echo 1 >out/a.txt", "echo 2 >out/deep/b.txt"),
            "artifacts": {"base-directory": "out", "files": ["**/*"]},
        },
        artifacts={"type": "S3", "location": BUCKET, "name": "plain", "path": "results", "packaging": "NONE"},
    )

    assert build["artifacts"]["location"] == f"arn:aws:s3:::{BUCKET}/results/plain"
    assert builds.client("s3").get_object(Bucket=BUCKET, Key="results/plain/deep/b.txt")["Body"].read() == b"2\n"


def test_artifacts_can_be_one_zip(builds: Builds) -> None:
    build = builds.run(
        {**commands("echo 1 >a.txt"), "artifacts": {"files": ["a.txt"]}},
        artifacts={
            "type": "S3",
            "location": BUCKET,
            "name": "all.zip",
            "namespaceType": "BUILD_ID",
            "packaging": "ZIP",
        },
    )

    key = build["artifacts"]["location"].removeprefix(f"arn:aws:s3:::{BUCKET}/")
    assert key == f"{build['id'].split(':')[1]}/all.zip"
    packed = zipfile.ZipFile(io.BytesIO(builds.client("s3").get_object(Bucket=BUCKET, Key=key)["Body"].read()))
    assert packed.namelist() == ["a.txt"]


def test_artifacts_that_match_nothing_fail_the_build(builds: Builds) -> None:
    build = builds.run(
        {**commands("true"), "artifacts": {"files": ["absent"]}},
        artifacts={"type": "S3", "location": BUCKET, "name": "x", "packaging": "NONE"},
    )

    assert failure_of(build) == "CLIENT_ERROR: artifacts.files: no matching artifact paths found for 'absent'"


def test_artifacts_for_a_bucket_that_is_not_there_fail_the_build_by_name(builds: Builds) -> None:
    build = builds.run(
        {**commands("echo 1 >a.txt"), "artifacts": {"files": ["a.txt"]}},
        artifacts={"type": "S3", "location": "no-such-bucket", "name": "x", "packaging": "NONE"},
    )

    assert build["buildStatus"] == "FAILED"
    assert failure_of(build).startswith("CLIENT_ERROR: cannot upload s3://no-such-bucket/x/a.txt: ")
