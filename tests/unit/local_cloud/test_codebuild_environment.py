"""The variables of a build of the local cloud, and what it can reach."""

from __future__ import annotations

from tests.support.builds import BUCKET, Builds, commands


def test_directories_and_variables_carry_over_and_exported_ones_are_reported(builds: Builds) -> None:
    build = builds.run(
        {
            "version": "0.2",
            "env": {"variables": {"GREETING": "from the buildspec"}, "exported-variables": ["RESULT", "ABSENT"]},
            "phases": {
                "install": {"commands": ["mkdir deep && cd deep", "export RESULT='two\nlines'"]},
                "build": {"commands": ["basename $PWD"]},
            },
        }
    )

    assert build["exportedEnvironmentVariables"] == [
        {"name": "RESULT", "value": "two\nlines"},
        {"name": "ABSENT", "value": ""},
    ]
    assert "deep" in builds.log(build)


def test_a_start_overrides_the_project_which_overrides_the_buildspec(builds: Builds) -> None:
    buildspec = {"env": {"variables": {"A": "spec", "B": "spec", "C": "spec"}}, **commands('echo "$A $B $C"')}
    environment = {
        "type": "LINUX_CONTAINER",
        "image": "aws/x",
        "computeType": "BUILD_GENERAL1_SMALL",
        "environmentVariables": [{"name": "B", "value": "project"}, {"name": "C", "value": "project"}],
    }

    build = builds.run(
        buildspec,
        environment=environment,
        overrides={"environmentVariablesOverride": [{"name": "C", "value": "start"}]},
    )

    assert "spec project start" in builds.log(build)


def test_a_variable_can_come_from_the_parameter_store(builds: Builds) -> None:
    builds.client("ssm").put_parameter(Name="/test/greeting", Value="stored", Type="String")

    build = builds.run(
        commands('echo "it is $GREETING"'),
        overrides={
            "environmentVariablesOverride": [{"name": "GREETING", "value": "/test/greeting", "type": "PARAMETER_STORE"}]
        },
    )

    assert "it is stored" in builds.log(build)


def test_a_build_inherits_nothing_of_the_emulator(builds: Builds) -> None:
    build = builds.run(commands("env | cut -d= -f1 | sort | tr '\\n' ' '"))

    names = next(line for line in builds.log(build) if " PATH " in line).split()
    assert not [name for name in names if name.startswith(("MINISTACK", "GATEWAY", "LOCAL_CLOUD_HOME", "DOCKER"))]


def test_a_build_reaches_s3_but_not_the_packages_of_this_checkout(builds: Builds) -> None:
    build = builds.run(
        commands(
            f'python3 -c \'import boto3; boto3.client("s3").put_object(Bucket="{BUCKET}", Key="made", Body=b"x")\'',
            "python3 -c 'import decision_provenance' 2>/dev/null || echo not importable",
        )
    )

    assert build["buildStatus"] == "SUCCEEDED"
    assert builds.client("s3").get_object(Bucket=BUCKET, Key="made")["Body"].read() == b"x"
    assert "not importable" in builds.log(build)
