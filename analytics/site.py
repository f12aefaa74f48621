"""[site]: what people are told about this place. Imports nothing of ours: compute nodes read it too."""

import msgspec


class SiteSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """[site]: what people are told about this place."""

    name: str = "GPU cluster"
    """Name of the site or cluster, as people know it."""
    cluster: str = "local"
    """Name of the cluster on hosts without Slurm; with Slurm its own ClusterName stands."""
    url: str = ""
    """Address of the pages as people reach them; links in reports begin with it. Empty: the hub's own address."""
    contact: str = ""
    """Whom to ask: a mail address or a room."""
    docs_url: str = ""
    """The site's own documentation on GPU jobs."""
    zone: str = "UTC"
    """Time zone of pages, reports and report weeks, such as Europe/Helsinki."""
