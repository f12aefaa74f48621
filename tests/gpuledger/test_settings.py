"""What the hub makes of its configuration."""

import socket

import pytest

from analytics.site import SiteSettings
from gpuledger.settings import HubSettings, Settings, linked


@pytest.mark.parametrize(
    ("hub", "url"),
    [
        (HubSettings(), "http://127.0.0.1:9050"),
        (HubSettings(host="::1"), "http://[::1]:9050"),
        (HubSettings(host="hub.example.org", tls_cert="c", tls_key="k"), "https://hub.example.org:9050"),
        (HubSettings(host="0.0.0.0", names=("gpu.example.org",)), "http://gpu.example.org:9050"),
        (HubSettings(host="0.0.0.0"), f"http://{socket.getfqdn()}:9050"),
    ],
)
def test_links_lead_to_the_hub_that_made_them(hub: HubSettings, url: str) -> None:
    assert linked(Settings(hub=hub), 9050).site.url == url


def test_the_sites_own_address_wins() -> None:
    assert (
        linked(Settings(site=SiteSettings(url="https://gpu.example.org")), 9050).site.url == "https://gpu.example.org"
    )


def test_at_rest_it_is_the_configured_port() -> None:
    assert linked(Settings()).site.url == "http://127.0.0.1:8050"
