"""What an image build and the deploy rely on in ECR."""

from __future__ import annotations

import base64
import json
import uuid
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.support.aws_clients import ClientFactory

MANIFEST = json.dumps({"schemaVersion": 2, "config": {"digest": f"sha256:{'ab' * 32}"}})


@pytest.fixture
def repository(client: ClientFactory) -> str:
    name = f"images-{uuid.uuid4().hex[:8]}"
    client("ecr").create_repository(repositoryName=name, imageTagMutability="IMMUTABLE")
    return name


def put(client: ClientFactory, repository: str, *, manifest: str = MANIFEST) -> Any:
    answer = client("ecr").put_image(repositoryName=repository, imageManifest=manifest, imageTag="cpu-1")
    return answer["image"]["imageId"]["imageDigest"]


def test_a_pushed_image_is_described_by_its_tag_with_its_digest(client: ClientFactory, repository: str) -> None:
    digest = put(client, repository)

    (image,) = client("ecr").describe_images(repositoryName=repository, imageIds=[{"imageTag": "cpu-1"}])[
        "imageDetails"
    ]
    assert image["imageDigest"] == digest


def test_a_pushed_image_is_pulled_by_its_digest(client: ClientFactory, repository: str) -> None:
    digest = put(client, repository)

    answer = client("ecr").batch_get_image(repositoryName=repository, imageIds=[{"imageDigest": digest}])

    assert [image["imageManifest"] for image in answer["images"]] == [MANIFEST]


def test_an_image_that_is_not_there_is_not_found(client: ClientFactory, repository: str) -> None:
    put(client, repository)

    with pytest.raises(client("ecr").exceptions.ImageNotFoundException, match=f"imageTag:'cpu-2'.*'{repository}'"):
        client("ecr").describe_images(repositoryName=repository, imageIds=[{"imageTag": "cpu-2"}])


def test_a_repository_that_is_not_there_is_not_found(client: ClientFactory) -> None:
    with pytest.raises(client("ecr").exceptions.RepositoryNotFoundException):
        client("ecr").describe_images(repositoryName="nobody", imageIds=[{"imageTag": "cpu-1"}])


def test_an_immutable_tag_stays_where_it_is(client: ClientFactory, repository: str) -> None:
    put(client, repository)

    with pytest.raises(ClientError, match="ImageTagAlreadyExistsException"):
        put(client, repository, manifest=MANIFEST.replace("ab", "cd"))


def test_a_token_holds_a_user_and_a_password_for_docker(client: ClientFactory) -> None:
    (answer,) = client("ecr").get_authorization_token()["authorizationData"]

    user, _, password = base64.b64decode(answer["authorizationToken"]).decode().partition(":")
    assert user == "AWS"
    assert password
