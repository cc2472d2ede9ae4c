"""What an endpoint hosts, read from its configuration and model once: later changes to these do not reach it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from local_cloud.aws_model import JsonObject
from local_cloud.sagemaker.resources import Definition, Shelf
from local_cloud.sagemaker.rules import containers_of

_DEFAULT_STARTUP_SECONDS = 600.0
_DEFAULT_DOWNLOAD_SECONDS = 3600.0


@dataclass(frozen=True)
class ModelSource:
    """Where a container's model lies in S3: a prefix, one object, or one archive to unpack."""

    bucket: str
    key: str
    archive: bool
    one_object: bool

    @property
    def uri(self) -> str:
        """The source as `s3://bucket/key`."""
        return f"s3://{self.bucket}/{self.key}"

    @classmethod
    def from_container(cls, container: JsonObject) -> ModelSource | None:
        """The source of a container definition; none if the image brings its model."""
        if "ModelDataUrl" in container:
            return cls._from_uri(container["ModelDataUrl"], archive=True, one_object=True)
        source = container.get("ModelDataSource", {}).get("S3DataSource")
        if source is None:
            return None
        archive = source["CompressionType"] == "Gzip"
        return cls._from_uri(source["S3Uri"], archive=archive, one_object=archive or source["S3DataType"] == "S3Object")

    @classmethod
    def _from_uri(cls, uri: str, *, archive: bool, one_object: bool) -> ModelSource:
        bucket, _, key = uri.split("://", 1)[1].partition("/")
        return cls(bucket, key, archive, one_object)


@dataclass(frozen=True)
class Variant:
    """One production variant.

    `startup_seconds` is how long a container may take from its start to its first 200 on `/ping`, `download_seconds`
    how long fetching its model may take. Defaults: 600 and 3,600.
    """

    name: str
    image: str
    environment: Mapping[str, str]
    source: ModelSource | None
    instance_count: int
    weight: float
    instance_type: str
    pooled: bool
    startup_seconds: float
    download_seconds: float

    @classmethod
    def of(cls, config: Definition, models: Shelf[Definition]) -> Variant:
        """The variant of an endpoint configuration; raises `ApiError` if its model is gone."""
        variant = config.request["ProductionVariants"][0]
        pools = sorted(variant.get("InstancePools", []), key=lambda pool: int(pool["Priority"]))
        # Here every pool has capacity, so the first one gets all instances.
        model_name = pools[0].get("ModelNameOverride", variant["ModelName"]) if pools else variant["ModelName"]
        container = containers_of(models.get(model_name).request)[0]
        return cls(
            name=variant["VariantName"],
            image=container["Image"],
            environment=container.get("Environment", {}),
            source=ModelSource.from_container(container),
            instance_count=variant["InitialInstanceCount"],
            weight=variant.get("InitialVariantWeight", 1.0),
            instance_type=pools[0]["InstanceType"] if pools else variant["InstanceType"],
            pooled=bool(pools),
            startup_seconds=variant.get("ContainerStartupHealthCheckTimeoutInSeconds", _DEFAULT_STARTUP_SECONDS),
            download_seconds=variant.get("ModelDataDownloadTimeoutInSeconds", _DEFAULT_DOWNLOAD_SECONDS),
        )


def models_named(config_request: JsonObject) -> list[str]:
    """The names of all models that an endpoint configuration mentions."""
    names = []
    for variant in config_request["ProductionVariants"]:
        names.append(variant["ModelName"])
        names += [pool["ModelNameOverride"] for pool in variant.get("InstancePools", []) if "ModelNameOverride" in pool]
    return names
