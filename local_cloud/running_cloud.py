"""A local cloud that runs: how to reach it, and the record in its home by which it is found again."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from pathlib import Path

from local_cloud.marks import carries

ACCOUNT = "123456789012"
REGION = "us-east-1"


@dataclass(frozen=True)
class RunningCloud:
    """A local cloud whose process is alive. `mark` is in the environment of everything it starts."""

    home: Path
    pid: int
    port: int
    mark: str
    account: str = ACCOUNT
    region: str = REGION

    @classmethod
    def find(cls, home: Path) -> RunningCloud | None:
        """The local cloud of a home directory; None where none runs, whatever an old `cloud.json` says."""
        recorded = read_record(home)
        return recorded if recorded and carries(recorded.pid, recorded.mark) else None

    @property
    def endpoint_url(self) -> str:
        """Where AWS SDKs find it, as `http://127.0.0.1:40123`."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        """What the emulator itself says."""
        return self.home / "emulator.log"

    def environment(self) -> dict[str, str]:
        """The variables that make the AWS SDKs and the CDK CLI talk to it. They hold no secret."""
        return {
            **sdk_environment(self.endpoint_url, self.account, self.region),
            "CDK_DEFAULT_ACCOUNT": self.account,
            "CDK_DEFAULT_REGION": self.region,
        }

    def healthy(self) -> bool:
        """Whether it answers now."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2)
        try:
            connection.request("GET", "/_ministack/health")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def sdk_environment(endpoint_url: str, account: str, region: str) -> dict[str, str]:
    """The variables that make an AWS SDK talk to an emulator as an account in a region.

    The access key id is the account's twelve digits, which is how the emulator and the CDK CLI tell the account.
    """
    return {
        "AWS_ENDPOINT_URL": endpoint_url,
        "AWS_ACCESS_KEY_ID": account,
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def write_record(cloud: RunningCloud) -> None:
    """Write `cloud.json`, whole or not at all."""
    content = {name: getattr(cloud, name) for name in ("pid", "port", "account", "region", "mark")}
    unfinished = cloud.home / "cloud.json.new"
    unfinished.write_text(json.dumps(content) + "\n")
    unfinished.replace(_record_file(cloud.home))


def read_record(home: Path) -> RunningCloud | None:
    """What `cloud.json` says, alive or not; None where there is none or it is not ours to read."""
    try:
        content = json.loads(_record_file(home).read_text())
        return RunningCloud(
            home=home.absolute(),
            pid=int(content["pid"]),
            port=int(content["port"]),
            mark=str(content["mark"]),
            account=str(content["account"]),
            region=str(content["region"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remove_record(home: Path) -> None:
    """Forget the cloud of a home directory."""
    _record_file(home).unlink(missing_ok=True)


def _record_file(home: Path) -> Path:
    return home / "cloud.json"
