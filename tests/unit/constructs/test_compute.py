from __future__ import annotations

import botocore.session
import pytest
from botocore.model import StringShape

from decision_endpoints import CpuInstance, InvalidArguments
from decision_endpoints.instance_catalog import CPU_INSTANCES


def test_sagemaker_hosts_exactly_the_types_of_the_catalogs_families() -> None:
    model = botocore.session.get_session().get_service_model("sagemaker")
    shape = model.shape_for("ProductionVariantInstanceType")
    assert isinstance(shape, StringShape)
    families = {name.rpartition(".")[0] for name in CPU_INSTANCES}

    assert {name for name in shape.enum if name.rpartition(".")[0] in families} == set(CPU_INSTANCES)


def test_threads_default_to_physical_cores() -> None:
    assert CpuInstance("ml.c6i.8xlarge").threads == 16


@pytest.mark.parametrize("threads", [0, -1, 5])
def test_more_threads_than_vcpus_are_refused_with_the_range(threads: int) -> None:
    with pytest.raises(InvalidArguments, match=r"ml\.c6i\.xlarge has 4 vCPUs: give 1 to 4"):
        CpuInstance("ml.c6i.xlarge", threads=threads)


def test_an_unknown_type_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(InvalidArguments, match=r"did you mean ml\.c6i\.xlarge\?"):
        CpuInstance("ml.c6i.xlrage")
