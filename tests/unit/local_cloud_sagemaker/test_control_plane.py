"""Models, endpoint configurations and endpoints as entries: created once, listed, tagged, found or not."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from tests.support.hosting import ROLE, Hosting


def test_a_model_that_exists_cannot_be_created_again(hosting: Hosting) -> None:
    name = hosting.define()

    with pytest.raises(ClientError, match=f'Cannot create already existing model "arn:aws:sagemaker:.*/{name}"'):
        hosting.sagemaker.create_model(ModelName=name, ExecutionRoleArn=ROLE, PrimaryContainer={"Image": "i"})


def test_a_configuration_of_a_missing_model_is_refused(hosting: Hosting) -> None:
    with pytest.raises(ClientError, match="Could not find model"):
        hosting.sagemaker.create_endpoint_config(
            EndpointConfigName="of-nothing",
            ProductionVariants=[
                {
                    "VariantName": "main",
                    "ModelName": "missing",
                    "InitialInstanceCount": 1,
                    "InstanceType": "ml.c6i.xlarge",
                }
            ],
        )


def test_an_endpoint_of_a_missing_configuration_is_refused_and_leaves_nothing(hosting: Hosting) -> None:
    with pytest.raises(ClientError, match="Could not find endpoint configuration"):
        hosting.sagemaker.create_endpoint(EndpointName="of-no-config", EndpointConfigName="missing")

    with pytest.raises(ClientError, match="Could not find endpoint"):
        hosting.sagemaker.describe_endpoint(EndpointName="of-no-config")


def test_what_was_defined_is_described(hosting: Hosting) -> None:
    name = hosting.define(environment={"KEY": "value"})

    model = hosting.sagemaker.describe_model(ModelName=name)
    config = hosting.sagemaker.describe_endpoint_config(EndpointConfigName=name)

    assert model["PrimaryContainer"]["Environment"] == {"KEY": "value"}
    assert config["ProductionVariants"][0]["ModelName"] == name


def test_a_list_is_filtered_and_comes_in_pages(hosting: Hosting) -> None:
    names = {hosting.define() for _ in range(3)}

    pages = hosting.sagemaker.get_paginator("list_models").paginate(PaginationConfig={"PageSize": 2})
    listed = [model["ModelName"] for page in pages for model in page["Models"]]
    one = min(names)

    assert names <= set(listed)
    assert len(listed) == len(set(listed))
    assert [m["ModelName"] for m in hosting.sagemaker.list_models(NameContains=one)["Models"]] == [one]


def test_tags_are_added_listed_and_deleted(hosting: Hosting) -> None:
    arn = hosting.sagemaker.describe_model(ModelName=hosting.define())["ModelArn"]

    hosting.sagemaker.add_tags(ResourceArn=arn, Tags=[{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "2"}])
    hosting.sagemaker.delete_tags(ResourceArn=arn, TagKeys=["a"])

    assert hosting.sagemaker.list_tags(ResourceArn=arn)["Tags"] == [{"Key": "b", "Value": "2"}]


def test_a_model_and_configuration_in_use_may_go_and_the_endpoint_stays(hosting: Hosting) -> None:
    name = hosting.deploy()

    hosting.sagemaker.delete_model(ModelName=name)
    hosting.sagemaker.delete_endpoint_config(EndpointConfigName=name)

    assert hosting.ask(name)["pid"]
    with pytest.raises(ClientError, match="Could not find endpoint configuration"):
        hosting.sagemaker.update_endpoint(EndpointName=name, EndpointConfigName=name)
