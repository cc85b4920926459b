"""The cloud that a machine is of, from what its firmware says; the network is never asked.

Sources: cloud-init, tools/ds-identify and the documentation of its data sources; Amazon EC2 User Guide, "Detect whether
a host is an EC2 instance" and the system manufacturer and product name of Nitro instances; Azure, the chassis asset tag
of its virtual machines; Google Compute Engine, "Detect if a VM is running in Compute Engine"; Oracle Cloud
Infrastructure, `OracleCloud.com` as chassis asset tag.
"""

from __future__ import annotations

from dataclasses import dataclass

from asct.facts.gaps import Gaps
from asct.facts.product import dmi
from asct.facts.snapshot import Snapshot

_UNASKED = "only the metadata service of the cloud tells it, and the network is not asked"
AZURE_TAG = "7783-7084-3265-9085-8269-3286-77"


@dataclass(frozen=True, slots=True)
class _Mark:
    """A file of /sys/class/dmi/id whose text begins with `text`, and whether product_name is the kind of machine."""

    file: str
    text: str
    cloud: str
    names_type: bool = False


_MARKS = (
    _Mark("sys_vendor", "Amazon EC2", "aws", names_type=True),
    _Mark("chassis_asset_tag", AZURE_TAG, "azure"),
    _Mark("chassis_asset_tag", "OracleCloud.com", "oracle"),
    _Mark("chassis_asset_tag", "HUAWEICLOUD", "huawei"),
    _Mark("chassis_asset_tag", "OpenTelekomCloud", "open-telekom"),
    _Mark("chassis_asset_tag", "SAP CCloud VM", "sap"),
    _Mark("chassis_asset_tag", "ibmcloud", "ibm"),
    _Mark("product_name", "Google Compute Engine", "gcp"),
    _Mark("sys_vendor", "Google", "gcp"),
    _Mark("sys_vendor", "Alibaba Cloud", "alibaba"),
    _Mark("product_name", "Alibaba Cloud ECS", "alibaba"),
    _Mark("sys_vendor", "Tencent Cloud", "tencent"),
    _Mark("sys_vendor", "Hetzner", "hetzner"),
    _Mark("sys_vendor", "DigitalOcean", "digitalocean"),
    _Mark("sys_vendor", "Vultr", "vultr"),
    _Mark("sys_vendor", "Scaleway", "scaleway", names_type=True),
    _Mark("sys_vendor", "UpCloud", "upcloud"),
    _Mark("sys_vendor", "Akamai", "akamai"),
    _Mark("sys_vendor", "Linode", "akamai"),
    _Mark("product_name", "Exoscale", "exoscale"),
    _Mark("product_name", "CloudSigma", "cloudsigma"),
    _Mark("product_name", "OpenStack Nova", "openstack"),
    _Mark("product_name", "OpenStack Compute", "openstack"),
    _Mark("sys_vendor", "OpenStack Foundation", "openstack"),
)
"""In the order of their weight: clouds made of OpenStack have their own tags."""


def cloud(found: Snapshot, gaps: Gaps) -> tuple[str | None, str | None]:
    """The provider and what it calls a machine of this kind (`aws`, `c7g.metal`)."""
    mark = next((one for one in _MARKS if (dmi(found, one.file) or "").startswith(one.text)), None)
    if mark is not None:
        kind = dmi(found, "product_name") if mark.names_type else None
        if kind is None:
            gaps.note("system.instance_type", _UNASKED)
        return mark.cloud, kind
    if (dmi(found, "bios_version") or "").endswith(".amazon"):  # EC2 on Xen, before Nitro
        gaps.note("system.instance_type", _UNASKED)
        return "aws", None
    for field in ("cloud", "instance_type"):
        gaps.note(f"system.{field}", "the firmware bears no mark of a cloud")
    return None, None
