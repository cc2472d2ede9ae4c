"""A platform team's own app: two endpoints in one stack, on a bucket, a key and a VPC of its own."""

from __future__ import annotations

from aws_cdk import App, CfnOutput, Environment, Stack, Stage
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from decision_endpoints import (
    QWEN3_5_4B,
    AdapterImage,
    AlarmTopic,
    ArtifactStore,
    BuiltImage,
    CpuInstance,
    DataCapture,
    DecisionEndpoint,
    DlcImage,
    EndpointAlarms,
    EndpointLogs,
    GpuPool,
    ModelPackage,
    Network,
    PackagedModel,
    Rollout,
    S3Gguf,
    Scaling,
)

# AWS's llama.cpp containers: for x86-64 CPUs, and for CUDA 13.
CPU_BASE = DlcImage("cpu", digest="sha256:1f19c220f5f169228f20cdddca00f4838be22a3a1ce9002bc444006adc3d6d43")
CUDA_BASE = DlcImage("cuda", digest="sha256:9f2eb2d9cbdc3172c2046117c4a43401bc95dbabdc3e2aeaa35daa11565c8b36")


class Foundation(Stack):
    """What lasts: the team's own bucket, key and VPC, and what the constructs keep on them."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id, description="Models, images and logs of the routing endpoints")
        self.key = kms.Key(self, "Key", enable_key_rotation=True)
        self.access_logs = s3.Bucket(
            self, "AccessLogs", enforce_ssl=True, block_public_access=s3.BlockPublicAccess.BLOCK_ALL
        )
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            encryption_key=self.key,
            bucket_key_enabled=True,
            enforce_ssl=True,
            versioned=True,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            server_access_logs_bucket=self.access_logs,
            server_access_logs_prefix="own/",
        )
        # The instances need a way to S3 and to nothing else.
        self.vpc = ec2.Vpc(
            self,
            "Vpc",
            nat_gateways=0,
            subnet_configuration=[
                ec2.SubnetConfiguration(name="endpoints", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED)
            ],
            gateway_endpoints={"S3": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.S3)},
        )
        self.package = ModelPackage(
            self,
            "Package",
            # The bytes of the library's default model, from a copy of ours: the pin is the same.
            source=S3Gguf(
                bucket=self.bucket,
                prefix="released/",
                name=QWEN3_5_4B.name,
                files=QWEN3_5_4B.files,
                facts=QWEN3_5_4B.facts,
            ),
            store=ArtifactStore(self, "Store", encryption_key=self.key, access_log_bucket=self.access_logs),
        )
        self.cpu_image = AdapterImage(self, "CpuImage", base=CPU_BASE)
        self.gpu_image = AdapterImage(self, "GpuImage", base=CUDA_BASE)
        self.cpu_logs = EndpointLogs(self, "CpuLogs", endpoint_name="routing-cpu", encryption_key=self.key)
        self.gpu_logs = EndpointLogs(self, "GpuLogs", endpoint_name="routing-gpu", encryption_key=self.key)


class Endpoints(Stack):
    """What can be replaced: one model, verified once, behind two endpoints."""

    def __init__(self, scope: Construct, construct_id: str, *, foundation: Foundation) -> None:
        super().__init__(scope, construct_id, description="The routing endpoints")
        model = PackagedModel(self, "Model", package=foundation.package)
        network = Network(vpc=foundation.vpc, subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED))
        self.cpu = DecisionEndpoint(
            self,
            "Cpu",
            model=model,
            image=BuiltImage(self, "CpuImage", image=foundation.cpu_image),
            compute=CpuInstance("ml.c6i.4xlarge"),
            logs=foundation.cpu_logs,
            network=network,
            volume_key=foundation.key,
            data_capture=DataCapture(bucket=foundation.bucket, prefix="captured", percentage=5),
        )
        self.gpu = DecisionEndpoint(
            self,
            "Gpu",
            model=model,
            image=BuiltImage(self, "GpuImage", image=foundation.gpu_image),
            compute=GpuPool(["ml.g6e.xlarge", "ml.g6.2xlarge"]),
            logs=foundation.gpu_logs,
            network=network,
            scaling=Scaling(min=2, max=6),
            rollout=Rollout.canary(percent=20),
        )
        topic = AlarmTopic(self, "AlarmTopic").topic
        EndpointAlarms(self, "CpuAlarms", endpoint=self.cpu, topic=topic)
        alarms = EndpointAlarms(self, "GpuAlarms", endpoint=self.gpu, topic=topic)
        self.gpu.roll_back_on(*alarms.rollback_alarms)
        for endpoint in (self.cpu, self.gpu):
            CfnOutput(self, f"{endpoint.node.id}EndpointName", value=endpoint.cfn_endpoint.attr_endpoint_name)


app = App()
# Without an account: that of the credentials which deploy.
routing = Stage(app, "Routing", env=Environment(region="eu-west-1"))
Endpoints(routing, "Endpoints", foundation=Foundation(routing, "Foundation"))
app.synth()
