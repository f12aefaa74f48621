"""One file of settings: what is wrong with it is said in one sentence that names the key, with exit code 2."""

from pathlib import Path

import pytest

from gpuledger.node import HUB_SECTIONS, NodeSettings
from gpuledger.settings import Settings, load
from tests.gpuledger.said import refused, said

SEE_EXAMPLE = "config.example.toml shows every key with its default."


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[collector]\nintervl_s = 3", "unknown key collector.intervl_s; did you mean interval_s?"),
        ("[colector]\ninterval_s = 3", "unknown key colector; did you mean collector?"),
        ("[analytics.rules.idle_new]\nidle_s = 3", "unknown key analytics.rules.idle_new; did you mean idle_now?"),
        (
            "[[analytics.overrides]]\nqos = 'a'\n[[analytics.overrides]]\npartion = 'x'",
            "unknown key analytics.overrides[2].partion; did you mean partition?",
        ),
        ("[hub]\nxyzzy = 3", "unknown key hub.xyzzy; known here are data, host, "),
        (
            "[collector]\ninterval_s = '3'",
            f"collector.interval_s: a number belongs here, not text in quotes; {SEE_EXAMPLE}",
        ),
        (
            "[collector]\ninterval_s = 0.1",
            f"collector.interval_s: a number of at least 0.5 belongs here; {SEE_EXAMPLE}",
        ),
        ("[store]\nthreads = -1", "store: threads, memory_limit_mib and min_free_mib are not negative; "),
        ("[hub]\nhost = '0.0.0.0'", "0.0.0.0 is not a loopback address and there is no TLS: set hub.tls_cert and "),
        ("[hub]\nhost = '0.0.0.0'\ntls_cert = '/c.pem'", "hub.tls_cert is set and hub.tls_key is not; TLS needs both."),
        ("[hub]\nport = 65536", "hub.port: a whole number of at most 65535 belongs here; "),
        ("[hub]\nport = 'x'", "hub.port: a whole number belongs here, not text in quotes; "),
        ('[collector]\nslurm = "none"', 'collector.slurm is one of "auto", "yes", "no", not '),
        ("[collector]\nprobes = 3", "collector.probes: a list in [ ] belongs here, not a whole number; "),
        ("collector = 3", "collector: a section belongs here, not a whole number; "),
        ("[collector]\nhub = 'hub:8050'", "collector.hub: 'hub:8050' is no hub's address; write one such as https://"),
        ("[site]\nzone = 'Mars'", "site.zone 'Mars' is no time zone; write one such as Europe/Helsinki."),
        ("[collector]\nprobes = ['gpus']", "collector.probes names 'gpus', which is no probe; did you mean gpu?"),
    ],
)
def test_what_is_wrong_is_named(text: str, sentence: str, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(text)
    assert refused("config", "check", config, code=2).startswith(f"{config}: {sentence}")


@pytest.mark.parametrize("command", ["up", "serve", "demo", "collect", "doctor", "jobs", "report", "token add n1"])
def test_no_command_runs_with_a_key_it_does_not_know(command: str, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[collector]\nintervl_s = 3")
    sentence = f"{config}: unknown key collector.intervl_s; did you mean interval_s?"
    assert refused(*command.split(), "--config", config, code=2) == sentence


def test_a_file_that_is_missing_or_no_toml_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "none.toml"
    assert refused("config", "check", missing, code=2) == (f"{missing}: No such file or directory; name another file.")
    bad = tmp_path / "bad.toml"
    bad.write_text("[collector\n")
    assert refused("config", "check", bad, code=2).startswith(f"{bad} is not valid TOML: ")
    bad.write_bytes(b"\xff\xfe")
    assert refused("config", "check", bad, code=2).endswith("; mend that line.")


def test_a_good_file_says_what_it_sets(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[site]\nname = 'Blue'\ncluster = 'b1'\n[hub]\ndata = '/srv/ledger'\n")
    assert said("config", "check", config) == (
        0,
        f"{config}: good. Site 'Blue', cluster 'b1', data in /srv/ledger.\n",
        "",
    )
    assert load(config).hub.data == "/srv/ledger"


def test_a_node_reads_its_own_sections_alone(tmp_path: Path) -> None:
    """So that a hub's file of a later version does not stop the agents."""
    assert {*NodeSettings.__struct_fields__, *HUB_SECTIONS} == {*Settings.__struct_fields__}
    config = tmp_path / "config.toml"
    config.write_text("[hub]\nnews = 1\n[collector]\nprobes = []\nslurm = 'no'\n")
    assert said("collect", "--once", "--config", config).code == 0
    assert refused("jobs", "--config", config, code=2).startswith(f"{config}: unknown key hub.news")
