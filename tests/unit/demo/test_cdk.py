"""The real CLI is run with an environment that reaches nothing but the local cloud, and its failures are told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from local_cloud.demo.cdk import CdkCli, CdkFailed, failure_reasons
from local_cloud.demo.checkout import ROOT
from local_cloud.running_cloud import RunningCloud

CdkThat = Callable[[str], Path]
EVENT = "local-Endpoint | {done}/9 | 11:53:05 PM | {status} | {type} | {resource} {reason}"
WRITE_OUTPUTS = """
while [ $# -gt 0 ]; do [ "$1" = --outputs-file ] && echo '{"local-Endpoint": {"EndpointName": "e"}}' > "$2"; shift; done
"""


def test_a_deploy_returns_the_outputs_and_tells_its_news(cloud: RunningCloud, cdk_that: CdkThat) -> None:
    event = EVENT.format(done=5, status="CREATE_COMPLETE", type="AWS::S3::Bucket", resource="Store/Bucket", reason="")
    calls = cdk_that(f"echo '✨  Synthesis time: 5s'; echo chatter; echo '{event}'; {WRITE_OUTPUTS}")
    news: list[str] = []

    outputs = CdkCli(cloud).deploy("local/*", news.append)

    assert outputs == {"local-Endpoint": {"EndpointName": "e"}}
    assert news == ["✨  Synthesis time: 5s", "local-Endpoint 5/9 AWS::S3::Bucket CREATE_COMPLETE"]
    assert calls.read_text().startswith("deploy local/* --require-approval never")
    assert "chatter" in CdkCli(cloud).deploy_log.read_text()


def test_a_failed_deploy_gives_the_reason_of_the_event_and_the_log(cloud: RunningCloud, cdk_that: CdkThat) -> None:
    event = EVENT.format(
        done=5, status="CREATE_FAILED", type="Custom::VerifiedGguf", resource="Verified", reason="SHA-256 aa, not bb"
    )
    cdk_that(f"echo '{event}'; echo 'more noise'; exit 1")
    log = CdkCli(cloud).deploy_log

    with pytest.raises(CdkFailed) as caught:
        CdkCli(cloud).deploy("local/*", lambda news: None)

    assert str(caught.value).splitlines() == [
        "Verified (Custom::VerifiedGguf): SHA-256 aa, not bb",
        f"The whole output is in {log}.",
    ]


def test_a_failed_synthesis_gives_the_end_of_what_the_app_said() -> None:
    lines = [*(f"noise {number}" for number in range(50)), "environments/local.yaml: no key 'modle', write 'model'", ""]

    reasons = failure_reasons(lines)

    assert reasons[-1] == "environments/local.yaml: no key 'modle', write 'model'"
    assert len(reasons) == 12


def test_what_the_cli_prints_around_the_apps_sentence_is_left_out() -> None:
    sentence = "environments/local.yaml: endpoint.contex_tokens is no setting: did you mean context_tokens?"
    lines = [
        ".local-cloud/tmp/tmpimg15eny/lib/program.js:1:5591",
        sentence,
        "   Rule Annotation::error-annotation",
        "PATH=.venv/bin:$PATH python3 app.py: Subprocess exited with error 1",
    ]

    assert failure_reasons(lines) == [sentence]


def test_the_same_reason_is_told_once() -> None:
    event = EVENT.format(done=1, status="CREATE_FAILED", type="Custom::X", resource="X", reason="why")

    assert failure_reasons([event, event]) == ["X (Custom::X): why"]


def test_the_cli_sees_only_the_local_cloud(cloud: RunningCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "production")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "real")
    monkeypatch.setenv("CDK_NEW_BOOTSTRAP", "1")

    environment = CdkCli(cloud).environment()

    assert not {"AWS_PROFILE", "AWS_SESSION_TOKEN", "CDK_NEW_BOOTSTRAP"} & set(environment)
    assert environment["AWS_ENDPOINT_URL"] == "http://127.0.0.1:9"
    assert environment["AWS_CONFIG_FILE"] == environment["AWS_SHARED_CREDENTIALS_FILE"] == "/dev/null"


@pytest.mark.parametrize("variable", ["CDK_HOME", "HOME", "JSII_RUNTIME_PACKAGE_CACHE_ROOT"])
def test_the_caches_stay_in_the_checkout(cloud: RunningCloud, variable: str) -> None:
    assert Path(CdkCli(cloud).environment()[variable]).is_relative_to(ROOT)


def test_temporary_files_stay_in_the_local_clouds_home(cloud: RunningCloud) -> None:
    assert Path(CdkCli(cloud).environment()["TMPDIR"]).is_relative_to(cloud.home)


def test_a_destroy_that_hangs_is_stopped(cloud: RunningCloud, cdk_that: CdkThat) -> None:
    cdk_that("exec sleep 60")

    with pytest.raises(CdkFailed, match=r"stopped after 0\.2 s"):
        CdkCli(cloud).destroy("local/*", lambda news: None, limit_seconds=0.2)


def test_a_cli_that_was_killed_is_said_to_have_been(cloud: RunningCloud, cdk_that: CdkThat) -> None:
    cdk_that("kill -TERM $$")

    with pytest.raises(CdkFailed, match="cdk deploy was ended by SIGTERM"):
        CdkCli(cloud).deploy("local/*", lambda news: None)


def test_an_interrupted_deploy_leaves_no_cli_behind(cloud: RunningCloud, cdk_that: CdkThat, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    # The news that interrupts comes after its number is written down.
    cdk_that(f"echo $$ > {pid_file}; echo '✨  Synthesis time: 5s'; exec sleep 60")

    def interrupt(news: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        CdkCli(cloud).deploy("local/*", interrupt)

    assert not Path("/proc", pid_file.read_text().strip()).exists()
