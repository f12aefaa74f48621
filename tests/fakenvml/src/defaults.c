/* What the GPUs are unless the scenario says otherwise: for every model, then what differs on each. BASE_DEFAULTS
 * is also the list of known keys of a GPU: others draw a warning. */
#include "fakenvml.h"

const char BASE_DEFAULTS[] =
    "model=h100\nname=NVIDIA H100 80GB HBM3\nuuid=auto\nserial=auto\npci_bus_id=auto\n"
    "pci_device_id=0x233010DE\n"
    "pci_subsystem_id=0x16C110DE\nminor=auto\nindex=auto\nbrand=14\narch=9\ncc=9.0\n"
    "vbios=96.00.74.00.01\nboard_part=692-2G520-0200-000\n"
    "inforom=G520.0200.00.05\ncores=16896\nbus_width=5120\nboard_id=auto\nmultigpu_board=0\n"
    "numa_node=auto\n"
    "mem_total=81559MiB\nmem_reserved=551MiB\nmem_used=auto\nbar1_total=131072MiB\nbar1_used=2MiB\n"
    "util_gpu=0\nutil_mem=0\nutil_enc=0\nutil_dec=0\nutil_jpg=0\nutil_ofa=0\nutil_period_us=167000\n"
    "power_usage_mw=70000\npower_instant_mw=auto\npower_limit_mw=700000\n"
    "enforced_power_limit_mw=auto\npower_default_limit_mw=700000\n"
    "power_min_mw=200000\npower_max_mw=700000\npower_mode=1\nenergy_mj=auto\nenergy_start_mj=0\n"
    "temp_gpu=33\ntemp_mem=38\ntemp_margin=54\ntemp_threshold.0=92\ntemp_threshold.1=89\n"
    "temp_threshold.2=95\ntemp_threshold.3=87\n"
    "temp_tlimit_shutdown=-8\ntemp_tlimit_slowdown=-2\ntemp_tlimit_mem=0\ntemp_tlimit_gpu=0\n"
    "clock_graphics=345\nclock_sm=345\nclock_mem=2619\nclock_video=765\nmax_clock_graphics=1980\n"
    "max_clock_sm=1980\nmax_clock_mem=2619\nmax_clock_video=1545\n"
    "event_reasons=1\nevent_reasons_supported=0x1ff\npstate=0\n"
    "pcie_tx_kbps=0\npcie_rx_kbps=0\npcie_tx_bytes=0\npcie_rx_bytes=0\npcie_gen=5\npcie_width=16\n"
    "pcie_gen_max=5\npcie_width_max=16\npcie_replay=0\n"
    "ecc_mode=1\necc_pending=auto\necc_default=1\necc_sbe_vol=0\necc_dbe_vol=0\necc_sbe_agg=0\n"
    "ecc_dbe_agg=0\n"
    "remapped_corr=0\nremapped_unc=0\nremapped_pending=0\nremapped_failure=0\n"
    "remap_hist=640,0,0,0,0\n"
    "retired_sbe=NOT_SUPPORTED\nretired_dbe=NOT_SUPPORTED\nretired_pending=NOT_SUPPORTED\n"
    "mig_mode=0\nmig_pending=auto\nmig_max=7\nmig_handle_return=NOT_SUPPORTED\nmig_utilization=0\ngpm_supported=1\n"
    "gpm_min_interval_ms=0\n"
    "nvlink_count=18\nnvlink_state=1\nnvlink_version=7\nnvlink_speed_mbps=26562\n"
    "nvlink_switch_links=18\nnvlink_tx_kib=0\nnvlink_rx_kib=0\n"
    "nvlink_replay=0\nnvlink_recovery=0\nnvlink_crc_flit=0\nnvlink_crc_data=0\nnvlink_ecc=0\n"
    "violation_power_ns=0\nviolation_thermal_ns=0\nviolation_syncboost_ns=0\nviolation_board_ns=0\n"
    "violation_lowutil_ns=0\nviolation_reliability_ns=0\n"
    "violation_appclk_ns=0\nviolation_baseclk_ns=0\nevent_sw_therm_ns=0\nevent_hw_therm_ns=0\n"
    "event_hw_brake_ns=0\nrecovery_action=0\n"
    "persistence=1\ncompute_mode=0\naccounting_mode=0\naccounting_buffer=4000\ndisplay_active=0\n"
    "display_mode=0\nfan_speed=NOT_SUPPORTED\nnum_fans=0\n"
    "virtualization_mode=0\ngsp_version=580.95.05\nevent_types=0xFF8F\nlost=0\nsamples_n=120\n"
    "sample_period_ms=100\nlatency_us_per_field=0\n";

const struct model MODELS[MODEL_COUNT] = {
    {"h100",
     ""},
    {"h200",
     "name=NVIDIA H200\npci_device_id=0x233510DE\nmem_total=143771MiB\nmem_reserved=600MiB\n"
     "clock_mem=3201\nmax_clock_mem=3201\nbar1_total=262144MiB\nbus_width=6144\n"},
    {"b200",
     "name=NVIDIA B200\npci_device_id=0x290110DE\narch=10\ncc=10.0\nmem_total=183359MiB\n"
     "power_limit_mw=1000000\npower_default_limit_mw=1000000\npower_max_mw=1000000\n"
     "max_clock_graphics=1965\nmax_clock_sm=1965\nclock_mem=3996\nmax_clock_mem=3996\n"
     "bar1_total=262144MiB\nbus_width=7680\nnvlink_version=8\nnvlink_speed_mbps=50000\ncores=18944\n"},
    {"a100",
     "name=NVIDIA A100-SXM4-80GB\npci_device_id=0x20B210DE\narch=7\ncc=8.0\nmem_total=81920MiB\n"
     "mem_reserved=631MiB\npower_limit_mw=400000\npower_default_limit_mw=400000\n"
     "power_min_mw=100000\npower_max_mw=400000\npower_usage_mw=62000\nclock_graphics=210\n"
     "clock_sm=210\nclock_mem=1593\nmax_clock_graphics=1410\nmax_clock_sm=1410\nmax_clock_mem=1593\n"
     "max_clock_video=1290\npcie_gen=4\npcie_gen_max=4\nnvlink_count=12\nnvlink_version=5\n"
     "nvlink_speed_mbps=25781\nnvlink_switch_links=12\ncores=6912\ngpm_supported=0\n"},
    {"v100",
     "name=Tesla V100-SXM2-32GB\npci_device_id=0x1DB510DE\nbrand=2\narch=5\ncc=7.0\n"
     "mem_total=32768MiB\npower_limit_mw=300000\npower_default_limit_mw=300000\npower_min_mw=150000\n"
     "power_max_mw=300000\npower_usage_mw=42000\nclock_graphics=135\nclock_sm=135\nclock_mem=877\n"
     "max_clock_graphics=1530\nmax_clock_sm=1530\nmax_clock_mem=877\nbar1_total=32768MiB\n"
     "pcie_gen=3\npcie_gen_max=3\nnvlink_count=6\nnvlink_version=2\nnvlink_speed_mbps=25781\n"
     "nvlink_switch_links=6\ncores=5120\nbus_width=4096\nmig_mode=NOT_SUPPORTED\nmig_max=0\n"
     "remapped_corr=NOT_SUPPORTED\nremap_hist=NOT_SUPPORTED\nretired_sbe=\nretired_dbe=\n"
     "retired_pending=0\ngpm_supported=0\n"},
    {"l40s",
     "name=NVIDIA L40S\npci_device_id=0x26B910DE\narch=8\ncc=8.9\nmem_total=46068MiB\n"
     "power_limit_mw=350000\npower_default_limit_mw=350000\npower_min_mw=100000\n"
     "power_max_mw=350000\npower_usage_mw=34000\nclock_graphics=210\nclock_sm=210\nclock_mem=405\n"
     "max_clock_graphics=2520\nmax_clock_sm=2520\nmax_clock_mem=9001\nbar1_total=65536MiB\n"
     "pcie_gen=4\npcie_gen_max=4\nnvlink_count=0\npstate=8\ncores=18176\nbus_width=384\n"
     "temp_mem=NOT_SUPPORTED\nmig_mode=NOT_SUPPORTED\nmig_max=0\ngpm_supported=0\n"},
    {"t4",
     "name=Tesla T4\npci_device_id=0x1EB810DE\narch=6\ncc=7.5\nmem_total=15360MiB\n"
     "power_limit_mw=70000\npower_default_limit_mw=70000\npower_min_mw=60000\npower_max_mw=70000\n"
     "power_usage_mw=9000\nclock_graphics=300\nclock_sm=300\nclock_mem=405\nmax_clock_graphics=1590\n"
     "max_clock_sm=1590\nmax_clock_mem=5001\nbar1_total=256MiB\npcie_gen=1\npcie_gen_max=3\n"
     "nvlink_count=0\npstate=8\ncores=2560\nbus_width=256\ntemp_mem=NOT_SUPPORTED\n"
     "mig_mode=NOT_SUPPORTED\nmig_max=0\nremapped_corr=NOT_SUPPORTED\nremap_hist=NOT_SUPPORTED\n"
     "retired_sbe=\nretired_dbe=\nretired_pending=0\ngpm_supported=0\n"},
    {"rtx4090",
     "name=NVIDIA GeForce RTX 4090\npci_device_id=0x268410DE\nbrand=5\narch=8\ncc=8.9\n"
     "serial=NOT_SUPPORTED\nmem_total=24564MiB\npower_limit_mw=450000\n"
     "power_default_limit_mw=450000\npower_min_mw=150000\npower_max_mw=600000\npower_usage_mw=16000\n"
     "clock_graphics=210\nclock_sm=210\nclock_mem=405\nmax_clock_graphics=3105\nmax_clock_sm=3105\n"
     "max_clock_mem=10501\nbar1_total=32768MiB\npcie_gen=1\npcie_gen_max=4\nnvlink_count=0\n"
     "pstate=8\ncores=16384\nbus_width=384\ntemp_mem=NOT_SUPPORTED\nmig_mode=NOT_SUPPORTED\n"
     "mig_max=0\ngpm_supported=0\nfan_speed=30\nnum_fans=2\necc_mode=0\npersistence=0\n"},
};

const char GLOBAL_DEFAULTS[] =
    "driver_version=580.95.05\nnvml_version=13.580.95.05\ncuda_version=13000\ncount=8\n"
    "count_latch=1\nclock_s=\nt0=\nlatency_us=0\nlatency_serialize=0\nhide_dead_pids=0\n";
