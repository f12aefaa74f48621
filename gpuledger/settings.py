"""The whole configuration: one section a package. `gpuledger collect` reads only what gpuledger.node says."""

import ipaddress
import socket
import ssl
from pathlib import Path
from typing import Annotated

import msgspec

from analytics.settings import AnalyticsSettings
from analytics.site import SiteSettings
from collector.settings import CollectorSettings
from gpuledger.config import read
from store.settings import StoreSettings


class HubSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """[hub]: the one process that receives, stores, analyses and shows."""

    data: str = "/var/lib/gpuledger"
    """Directory of the database, the inbox and the sealed files; on a local disk."""
    host: str = "127.0.0.1"
    """Address to listen on. Without TLS only loopback is accepted."""
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 8050
    """TCP port of pages, API and receiver."""
    names: tuple[str, ...] = ()
    """Names under which browsers reach the pages where there is no TLS here, such as that of your site's web server in
    front. This machine's own name, localhost and addresses are known; a foreign name is refused."""
    tls_cert: str = ""
    """PEM file with the certificate chain; with tls_key it turns TLS on."""
    tls_key: str = ""
    """PEM file with the private key."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file, section by section."""

    site: SiteSettings = SiteSettings()
    collector: CollectorSettings = CollectorSettings()
    hub: HubSettings = HubSettings()
    store: StoreSettings = StoreSettings()
    analytics: AnalyticsSettings = msgspec.field(default_factory=AnalyticsSettings)


def load(path: Path | None) -> Settings:
    """Returns the settings of a file (None: the installed one, else the defaults); raises ConfigError."""
    return read(path, Settings)


def why_not_to_listen(hub: HubSettings) -> str | None:
    """Returns the sentence that says why the hub must not listen as it is asked to, None where it may."""
    if bool(hub.tls_cert) != bool(hub.tls_key):
        given, lacks = ("tls_cert", "tls_key") if hub.tls_cert else ("tls_key", "tls_cert")
        return f"hub.{given} is set and hub.{lacks} is not; TLS needs both."
    if hub.tls_cert:
        return _why_no_tls(hub)
    if _is_loopback(hub.host):
        return None
    return (
        f"{hub.host} is not a loopback address and there is no TLS: set hub.tls_cert and hub.tls_key, "
        "or listen on 127.0.0.1 behind your site's web server."
    )


def _why_no_tls(hub: HubSettings) -> str | None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # A key with a passphrase would be asked for on a terminal that a service does not have.
        context.load_cert_chain(hub.tls_cert, hub.tls_key, password="")
    except OSError as error:
        what = error.strerror or str(error)
        return (
            f"TLS cannot be set up with hub.tls_cert {hub.tls_cert} and hub.tls_key {hub.tls_key} ({what}); name PEM "
            "files that the hub may read, the key without a passphrase and of this certificate."
        )
    return None


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def linked(settings: Settings, port: int | None = None) -> Settings:
    """Returns the settings with the hub's own address as site.url where the site gave none.

    Args:
        settings: the whole configuration.
        port: the port that is listened on; None takes hub.port.
    """
    if settings.site.url:
        return settings
    hub = settings.hub
    host = hub.host
    try:
        everywhere = ipaddress.ip_address(host).is_unspecified
    except ValueError:
        everywhere = False
    if everywhere:
        host = hub.names[0] if hub.names else socket.getfqdn()  # 0.0.0.0 leads nowhere
    shown = f"[{host}]" if ":" in host else host
    url = f"{'https' if hub.tls_cert else 'http'}://{shown}:{hub.port if port is None else port}"
    return msgspec.structs.replace(settings, site=msgspec.structs.replace(settings.site, url=url))
