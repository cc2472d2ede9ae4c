from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk.assertions import Match, Template

from decision_endpoints import CpuInstance, EcrImage, EndpointLogs, GpuPool, GravitonInstance, InvalidArguments
from tests.support.synth import IMAGE, endpoint, new_app, new_stack, packaged_model, resources, source


def _template(folder: Path, **settings: Any) -> Template:
    stack = new_stack()
    endpoint(stack, source(folder), **settings)
    return Template.from_stack(stack)


def test_the_container_has_no_network(template: Template) -> None:
    template.has_resource_properties("AWS::SageMaker::Model", {"EnableNetworkIsolation": True})


def test_a_model_cannot_exist_before_its_bytes_were_verified(template: Template) -> None:
    (verified,) = template.find_resources("Custom::VerifiedGguf")
    template.has_resource_properties(
        "AWS::SageMaker::Model",
        {
            "PrimaryContainer": {
                "ModelDataSource": {
                    "S3DataSource": {
                        "S3Uri": {"Fn::GetAtt": [verified, "S3Uri"]},
                        "S3DataType": "S3Prefix",
                        "CompressionType": "None",
                    }
                }
            }
        },
    )


def test_an_archive_is_one_object_that_sagemaker_unpacks(tmp_path: Path) -> None:
    stack = new_stack()
    archive = packaged_model(stack, source(tmp_path))
    archive.archived = True
    endpoint(stack, source(tmp_path), model=archive)

    (model,) = resources(Template.from_stack(stack), "AWS::SageMaker::Model")
    files = model["Properties"]["PrimaryContainer"]["ModelDataSource"]["S3DataSource"]
    assert (files["S3DataType"], files["CompressionType"]) == ("S3Object", "Gzip")


def test_the_container_is_told_the_digest_to_insist_on(template: Template) -> None:
    (verified,) = resources(template, "Custom::VerifiedGguf")
    (pinned,) = json.loads(verified["Properties"]["Files"])
    template.has_resource_properties(
        "AWS::SageMaker::Model",
        {
            "PrimaryContainer": {
                "Environment": {
                    "DECISION_MODEL_NAME": "tiny",
                    "DECISION_MODEL_SHA256": pinned["sha256"],
                    "DECISION_THREADS": "2",
                    # The model was trained for 2048, under the usual 4096.
                    "DECISION_CONTEXT_TOKENS": "2048",
                    "DECISION_PREFIXES": "2",
                }
            }
        },
    )


def test_only_the_endpoint_has_a_name_of_ours(template: Template) -> None:
    template.has_resource_properties("AWS::SageMaker::Endpoint", {"EndpointName": "decisions-test"})
    template.has_resource_properties("AWS::SageMaker::Model", {"ModelName": Match.absent()})
    template.has_resource_properties("AWS::SageMaker::EndpointConfig", {"EndpointConfigName": Match.absent()})


def test_a_request_goes_to_the_instance_with_the_shortest_queue(template: Template) -> None:
    template.has_resource_properties(
        "AWS::SageMaker::EndpointConfig",
        {
            "ProductionVariants": [
                Match.object_like({"RoutingConfig": {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"}})
            ]
        },
    )


def test_the_role_reads_this_model_and_writes_this_log_and_no_more(template: Template) -> None:
    (policy,) = [
        p for name, p in template.find_resources("AWS::IAM::Policy").items() if name.startswith("EndpointRole")
    ]
    statements = policy["Properties"]["PolicyDocument"]["Statement"]

    actions = {
        action for s in statements for action in ([s["Action"]] if isinstance(s["Action"], str) else s["Action"])
    }
    assert actions == {
        "s3:GetObject",
        "s3:ListBucket",
        "ecr:BatchCheckLayerAvailability",
        "ecr:BatchGetImage",
        "ecr:GetDownloadUrlForLayer",
        "ecr:GetAuthorizationToken",
        "cloudwatch:PutMetricData",
        "logs:CreateLogGroup",
        "logs:CreateLogStream",
        "logs:DescribeLogStreams",
        "logs:PutLogEvents",
    }
    everywhere = [s["Action"] for s in statements if s["Resource"] == "*"]
    assert everywhere == ["ecr:GetAuthorizationToken", "cloudwatch:PutMetricData"]
    (read,) = [s for s in statements if s["Action"] == "s3:GetObject"]
    assert read["Resource"]["Fn::Join"][1][-1] == "/models/tiny/*"


def test_whatever_is_switched_on_only_actions_that_know_no_resource_are_of_everything(everything: Template) -> None:
    everywhere = {
        action
        for name, policy in everything.find_resources("AWS::IAM::Policy").items()
        if name.startswith("EndpointRole")
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if statement["Resource"] == "*"
        for action in ([statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"])
    }

    assert everywhere == {
        "cloudwatch:PutMetricData",
        "ec2:DescribeDhcpOptions",
        "ec2:DescribeNetworkInterfaces",
        "ec2:DescribeSecurityGroups",
        "ec2:DescribeSubnets",
        "ec2:DescribeVpcs",
        "ecr:GetAuthorizationToken",
    }


def test_the_volumes_key_is_handed_on_only_to_aws(everything: Template) -> None:
    (grant,) = [
        statement
        for policy in resources(everything, "AWS::IAM::Policy")
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if statement["Action"] == "kms:CreateGrant"
    ]

    assert grant["Condition"] == {"Bool": {"kms:GrantIsForAWSResource": "true"}}


def test_a_changed_thread_count_is_a_new_config_of_the_same_endpoint(template: Template, tmp_path: Path) -> None:
    changed = _template(tmp_path, compute=CpuInstance("ml.c6i.xlarge", threads=4)).to_json()["Resources"]
    before = template.to_json()["Resources"]

    different = {before[name]["Type"] for name in before if before[name] != changed[name]}
    # A container's environment cannot be updated: the model is replaced, and the config, which names it, too.
    assert different == {"AWS::SageMaker::Model"}
    (config,) = [r for r in changed.values() if r["Type"] == "AWS::SageMaker::EndpointConfig"]
    model_name = config["Properties"]["ProductionVariants"][0]["ModelName"]["Fn::GetAtt"]
    assert changed[model_name[0]]["Type"] == "AWS::SageMaker::Model"


def test_a_changed_model_is_a_new_key_and_a_new_model(template: Template, tmp_path: Path) -> None:
    stack = new_stack()
    endpoint(stack, source(tmp_path, content=b"other bytes"))
    after = Template.from_stack(stack)

    (old,), (new,) = resources(template, "Custom::VerifiedGguf"), resources(after, "Custom::VerifiedGguf")
    (old_model,), (new_model,) = resources(template, "AWS::SageMaker::Model"), resources(after, "AWS::SageMaker::Model")
    assert old["Properties"]["Prefix"] != new["Properties"]["Prefix"]
    assert old_model["Properties"]["PrimaryContainer"] != new_model["Properties"]["PrimaryContainer"]


def test_all_that_is_out_of_range_is_said_in_one_message(tmp_path: Path) -> None:
    with pytest.raises(InvalidArguments) as refused:
        _template(
            tmp_path,
            context_tokens=4096,
            instance_count=0,
            prefixes=0,
            startup_timeout=Duration.seconds(59),
            download_timeout=Duration.seconds(3601),
            image=EcrImage(IMAGE.replace("us-east-1", "eu-west-1")),
        )

    assert str(refused.value).startswith("DecisionEndpoint Stack/Endpoint: ")
    found = ["4096", "instance_count is 0", "prefixes is 0", "59 seconds", "3601 seconds", "eu-west-1"]
    assert [[text in complaint for complaint in refused.value.complaints].count(True) for text in found] == [1] * len(
        found
    )


def test_a_single_instance_type_needs_no_pool_and_no_driver(template: Template) -> None:
    (config,) = resources(template, "AWS::SageMaker::EndpointConfig")
    (variant,) = config["Properties"]["ProductionVariants"]
    assert variant["InstanceType"] == "ml.c6i.xlarge"
    assert not {"InstancePools", "InferenceAmiVersion"} & set(variant)
    (model,) = resources(template, "AWS::SageMaker::Model")
    assert "DECISION_GPU_LAYERS" not in model["Properties"]["PrimaryContainer"]["Environment"]


def test_a_pool_has_its_types_in_order_of_priority_and_a_host_with_a_driver(tmp_path: Path) -> None:
    template = _template(tmp_path, compute=GpuPool(["ml.g6e.xlarge", "ml.g5.2xlarge"]))

    (config,) = resources(template, "AWS::SageMaker::EndpointConfig")
    (variant,) = config["Properties"]["ProductionVariants"]
    assert variant["InstancePools"] == [
        {"InstanceType": "ml.g6e.xlarge", "Priority": 1},
        {"InstanceType": "ml.g5.2xlarge", "Priority": 2},
    ]
    assert variant["InferenceAmiVersion"] == "al2023-ami-sagemaker-inference-gpu-4-1"
    # SageMaker takes the one or the other.
    assert "InstanceType" not in variant


@pytest.mark.parametrize(("gpu_layers", "told"), [(None, "10000"), (12, "12")])
def test_the_container_of_a_pool_is_told_what_to_offload(tmp_path: Path, gpu_layers: int | None, told: str) -> None:
    template = _template(tmp_path, compute=GpuPool(["ml.g5.2xlarge"], gpu_layers=gpu_layers))

    environment = {"DECISION_GPU_LAYERS": told, "DECISION_THREADS": "4"}
    template.has_resource_properties("AWS::SageMaker::Model", {"PrimaryContainer": {"Environment": environment}})


def test_an_image_for_another_processor_is_refused_where_that_is_known(tmp_path: Path) -> None:
    found = r"the image is for x86_64 and ml\.c8g\.xlarge is arm64: give an image for arm64"
    with pytest.raises(InvalidArguments, match=found):
        _template(tmp_path, image=EcrImage(IMAGE, architecture="x86_64"), compute=GravitonInstance("ml.c8g.xlarge"))


def test_an_image_for_the_same_processor_is_taken(tmp_path: Path) -> None:
    image = EcrImage(IMAGE, architecture="arm64")
    template = _template(tmp_path, image=image, compute=GravitonInstance("ml.c8g.xlarge"))

    template.has_resource_properties("AWS::SageMaker::Model", {"PrimaryContainer": {"Image": IMAGE}})


def test_an_application_can_be_allowed_to_ask(tmp_path: Path) -> None:
    stack = new_stack()
    asked = endpoint(stack, source(tmp_path))
    asked.grant_invoke(iam.Role(stack, "Application", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com")))

    template = Template.from_stack(stack)
    (name,) = template.find_resources("AWS::SageMaker::Endpoint")
    template.has_resource_properties(
        "AWS::IAM::Policy",
        {
            "PolicyDocument": {
                "Statement": [{"Action": "sagemaker:InvokeEndpoint", "Effect": "Allow", "Resource": {"Ref": name}}]
            }
        },
    )


def test_an_endpoint_can_be_renamed_since_no_export_carries_its_name(tmp_path: Path) -> None:
    app = new_app()
    lasting = new_stack("Lasting", app=app)
    logs = EndpointLogs(lasting, "Logs", endpoint_name="decisions-old")
    endpoint(new_stack("Replaceable", app=app), source(tmp_path), logs=logs)

    assert not Template.from_stack(lasting).find_outputs("*")


def test_an_endpoint_finds_its_log_group_made(template: Template) -> None:
    (group,) = template.find_resources("Custom::EndpointLogGroup")
    (endpoint_resource,) = resources(template, "AWS::SageMaker::Endpoint")
    assert group in endpoint_resource["DependsOn"]


@pytest.mark.parametrize("name", ["", "-a", "a-", "a_b", "a" * 64, f"a{'-' * 62}b"])
def test_a_name_that_sagemaker_would_refuse_is_refused_at_synth(name: str) -> None:
    with pytest.raises(InvalidArguments, match="at most 63 characters"):
        EndpointLogs(new_stack(), "Logs", endpoint_name=name)
