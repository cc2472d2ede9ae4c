"""An endpoint of this app: model, endpoint config, endpoint, and what goes with them."""

from __future__ import annotations

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from .compute import Compute
from .container_environment import environment_complaints
from .endpoint_image import Image, architecture_complaints, target_complaints
from .endpoint_metrics import VARIANT_NAME, EndpointMetrics
from .endpoint_role import allow_volume_key, build_role
from .errors import InvalidArguments
from .hosting import Container, Hosting
from .images import BoundImage
from .invocable_endpoint import InvocableEndpoint
from .model_package import PackagedModel
from .network import BoundNetwork
from .rollout import Rollout, too_many_alarms
from .scaling import EndpointScaling
from .shadow import SHADOW_VARIANT_NAME


class HostedEndpoint(InvocableEndpoint):
    """What `DecisionEndpoint` and `ChatEndpoint` have in common; their docstrings say it for the user."""

    def __init__(self, scope: Construct, id: str, hosting: Hosting, container: Container) -> None:
        super().__init__(scope, id)
        self._hosting = hosting
        environment = container.environment(hosting.model, hosting.compute)
        shadowing = hosting.shadowing
        shadow_environment = container.environment(shadowing[0], shadowing[2]) if shadowing else {}
        complaints = hosting.complaints(container)
        images: list[BoundImage] = []
        for _, image, compute in [hosting.production, *([shadowing] if shadowing else [])]:
            try:
                images.append(_bound(self, image, compute))
            except InvalidArguments as refused:
                complaints += refused.complaints
        network: BoundNetwork | None = None
        try:
            network = hosting.network.bind(self) if hosting.network else None
        except InvalidArguments as refused:
            complaints += refused.complaints
        complaints += environment_complaints(environment) + environment_complaints(shadow_environment)
        if taken_by := hosting.logs.taken_by:
            complaints.append(f"logs carry the name of {taken_by}, and names are unique: give EndpointLogs of its own")
        if complaints:
            raise InvalidArguments(f"{type(self).__name__} {self.node.path}", dict.fromkeys(complaints))

        hosting.logs.taken_by = self.node.path
        self._set_name(hosting.logs.endpoint_name)
        self.logs = hosting.logs
        self.compute = hosting.compute
        self.image_uri = images[0].uri
        self.scaling = hosting.scaling
        self.rollout = hosting.rollout or Rollout.all_at_once()
        self.shadow_metrics = EndpointMetrics(self.endpoint_name, SHADOW_VARIANT_NAME) if shadowing else None
        self.security_groups = network.security_groups if network else ()

        self.role = self._build_role(images, network)
        self.cfn_model = self._build_model("Model", hosting.model, images[0], environment, network)
        self.cfn_shadow_model = (
            self._build_model("ShadowModel", shadowing[0], images[1], shadow_environment, network)
            if shadowing
            else None
        )
        self.cfn_endpoint_config = self._build_endpoint_config()
        self.cfn_endpoint = self._build_endpoint()
        # Ref, not a composed ARN: SageMaker writes the name in lower case there.
        self.endpoint_arn = self.cfn_endpoint.ref
        self._rollback_alarms: list[cloudwatch.IAlarm] = []
        self.roll_back_on(*self.rollout.alarms)
        self.endpoint_scaling = (
            EndpointScaling(
                self,
                "Scaling",
                scaling=hosting.scaling,
                endpoint=self.cfn_endpoint,
                endpoint_name=self.endpoint_name,
                compute=hosting.compute,
            )
            if hosting.scaling
            else None
        )

    def roll_back_on(self, *alarms: cloudwatch.IAlarm) -> None:
        """Have SageMaker take an update back while one of these alarms is on; the endpoint then waits for them.

        Of each alarm the role may see the state. An alarm that depends on this endpoint's resources cannot be one.

        Raises
        ------
        InvalidArguments
            If there are more than 10 together.
        """
        added = [alarm for alarm in dict.fromkeys(alarms) if alarm not in self._rollback_alarms]
        complaints = too_many_alarms(len(self._rollback_alarms) + len(added))
        if complaints:
            raise InvalidArguments(f"{type(self).__name__} {self.node.path}", complaints)
        self._rollback_alarms += added
        if added:
            self.role.add_to_policy(
                iam.PolicyStatement(
                    actions=["cloudwatch:DescribeAlarms"], resources=[alarm.alarm_arn for alarm in added]
                )
            )
        self.cfn_endpoint.deployment_config = self.rollout.deployment_config(self._rollback_alarms)

    def _build_role(self, images: list[BoundImage], network: BoundNetwork | None) -> iam.Role:
        hosting = self._hosting
        shadow_model = hosting.shadow.model if hosting.shadow else None
        role = build_role(
            self,
            models=[hosting.model, *([shadow_model] if shadow_model else [])],
            images=images,
            log_group_name=hosting.logs.log_group_name,
        )
        if network:
            network.grant_interfaces(role)
        if hosting.volume_key:
            allow_volume_key(role, hosting.volume_key)
        if hosting.data_capture:
            hosting.data_capture.grant_write(role)
        return role

    def _build_model(
        self,
        id: str,
        model: PackagedModel,
        image: BoundImage,
        environment: dict[str, str],
        network: BoundNetwork | None,
    ) -> sagemaker.CfnModel:
        files = sagemaker.CfnModel.S3DataSourceProperty(
            s3_uri=model.s3_uri,
            s3_data_type="S3Object" if model.archived else "S3Prefix",
            # Quantized weights do not compress, and unpacking them costs start-up time: an archive is for who must.
            compression_type="Gzip" if model.archived else "None",
        )
        # No name of our own: a model cannot be updated, and two of one name cannot coexist during a replacement.
        cfn_model = sagemaker.CfnModel(
            self,
            id,
            execution_role_arn=self.role.role_arn,
            enable_network_isolation=self._hosting.network_isolation,
            primary_container=sagemaker.CfnModel.ContainerDefinitionProperty(
                image=image.uri,
                environment=environment,
                model_data_source=sagemaker.CfnModel.ModelDataSourceProperty(s3_data_source=files),
            ),
            vpc_config=network.vpc_config if network else None,
        )
        # The role's permissions too: SageMaker checks them when the model is made.
        cfn_model.node.add_dependency(self.role)
        return cfn_model

    def _build_endpoint_config(self) -> sagemaker.CfnEndpointConfig:
        hosting = self._hosting
        shadows = []
        if hosting.shadow and self.cfn_shadow_model:
            shadows.append(
                self._variant(
                    SHADOW_VARIANT_NAME,
                    self.cfn_shadow_model,
                    hosting.shadow.compute or hosting.compute,
                    count=hosting.shadow.instance_count,
                    # Relative to the production variant's, which is 1.
                    weight=hosting.shadow.percentage / 100,
                )
            )
        main = self._variant(VARIANT_NAME, self.cfn_model, hosting.compute, count=hosting.first_count, weight=1)
        return sagemaker.CfnEndpointConfig(
            self,
            "Config",
            production_variants=[main],
            shadow_production_variants=shadows or None,
            kms_key_id=hosting.volume_key.key_arn if hosting.volume_key else None,
            data_capture_config=hosting.data_capture.config if hosting.data_capture else None,
        )

    def _variant(
        self, name: str, model: sagemaker.CfnModel, compute: Compute, *, count: int, weight: float
    ) -> sagemaker.CfnEndpointConfig.ProductionVariantProperty:
        hosting = self._hosting
        # Of one type alone, where the variants are compared; a pool of one is a pool to SageMaker too.
        single = compute.members[0].name if hosting.shadow else compute.instance_type
        return sagemaker.CfnEndpointConfig.ProductionVariantProperty(
            variant_name=name,
            model_name=model.attr_model_name,
            instance_type=single,
            instance_pools=None if single else compute.instance_pools,
            inference_ami_version=compute.inference_ami_version,
            initial_instance_count=count,
            initial_variant_weight=weight,
            volume_size_in_gb=hosting.volume_gib,
            container_startup_health_check_timeout_in_seconds=hosting.startup_seconds,
            model_data_download_timeout_in_seconds=hosting.download_seconds,
            # An instance works on few requests at a time: the next one goes where the queue is shortest.
            routing_config=sagemaker.CfnEndpointConfig.RoutingConfigProperty(
                routing_strategy="LEAST_OUTSTANDING_REQUESTS"
            ),
        )

    def _build_endpoint(self) -> sagemaker.CfnEndpoint:
        endpoint = sagemaker.CfnEndpoint(
            self,
            "Endpoint",
            endpoint_name=self.endpoint_name,
            endpoint_config_name=self.cfn_endpoint_config.attr_endpoint_config_name,
            # Else an update undoes what scaling did. Without scaling it would make a changed count a silent no-op.
            retain_all_variant_properties=True if self._hosting.scaling else None,
        )
        # Its first line must find the group, with its retention; else SageMaker makes one of its own.
        endpoint.node.add_dependency(self.logs)
        return endpoint


def _bound(scope: Construct, image: Image, compute: Compute) -> BoundImage:
    bound = image.bind(scope)
    # Where the target is known, that sentence says it all.
    if not target_complaints(image, compute) and (wrong := architecture_complaints(bound, compute)):
        raise InvalidArguments("image", wrong)
    return bound
