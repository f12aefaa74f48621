import os, subprocess, sys, threading, time
import pynvml as p
import pytest
from pathlib import Path
from tests.fakenvml import Fake, child_env

US = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal", 6: "usVal"}


@pytest.fixture(scope="session")
def fake(tmp_path_factory):
    return Fake(tmp_path_factory.mktemp("s") / "scenario")


@pytest.fixture
def nv(fake):
    fake.write("clock_s=1000000\n")
    p.nvmlInit()
    yield fake
    fake.write("")
    p.nvmlShutdown()


def dev(i=0):
    return p.nvmlDeviceGetHandleByIndex(i)


def raises(exc, f, *a):
    with pytest.raises(exc) as e:
        f(*a)
    return e.value


def fv(h, *ids):
    return [
        (v.nvmlReturn, None if v.nvmlReturn else getattr(v.value, US[v.valueType]))
        for v in p.nvmlDeviceGetFieldValues(h, list(ids))
    ]


# ---- init and system ----
def test_init_errors(fake):
    for name, exc in [
        ("DRIVER_NOT_LOADED", p.NVMLError_DriverNotLoaded),
        ("LIB_RM_VERSION_MISMATCH", p.NVMLError_LibRmVersionMismatch),
        ("NO_PERMISSION", p.NVMLError_NoPermission),
    ]:
        fake.write(f"return.nvmlInit = {name}\n")
        raises(exc, p.nvmlInit)
        raises(exc, p.nvmlInitWithFlags, 0)
    raises(p.NVMLError_Uninitialized, p.nvmlDeviceGetCount)
    raises(p.NVMLError_Uninitialized, p.nvmlShutdown)
    fake.write("")
    p.nvmlInit()
    p.nvmlInit()
    p.nvmlShutdown()
    assert p.nvmlDeviceGetCount() == 8  # reference counted
    p.nvmlShutdown()
    raises(p.NVMLError_Uninitialized, p.nvmlDeviceGetCount)


def test_system(nv):
    nv.write("driver_version=570.1\nnvml_version=12.570.1\ncuda_version=12080\n")
    assert (
        p.nvmlSystemGetDriverVersion(),
        p.nvmlSystemGetNVMLVersion(),
        p.nvmlSystemGetCudaDriverVersion(),
        p.nvmlSystemGetCudaDriverVersion_v2(),
    ) == ("570.1", "12.570.1", 12080, 12080)
    assert p.nvmlErrorString(15) == "GPU is lost"
    assert "pytest" in p.nvmlSystemGetProcessName(os.getpid()) or "python" in p.nvmlSystemGetProcessName(os.getpid())
    raises(p.NVMLError_NotFound, p.nvmlSystemGetProcessName, 2**22 + 5)


def test_count(nv):
    nv.write("count=3\n")
    assert p.nvmlDeviceGetCount() == 8  # latched at init, as the real library
    p.nvmlShutdown()
    p.nvmlInit()
    assert p.nvmlDeviceGetCount() == 3
    raises(p.NVMLError_InvalidArgument, dev, 3)
    nv.write("count=5\ncount_latch=0\n")
    assert p.nvmlDeviceGetCount() == 5
    nv.write("count=0\ncount_latch=0\n")
    assert p.nvmlDeviceGetCount() == 0


# ---- handles and identity ----
def test_handles(nv):
    nv.write("gpu.2.uuid=GPU-abc\ngpu.2.pci_bus_id=00000001:C1:00.0\ngpu.2.serial=S2\n")
    h = dev(2)
    for other in (
        p.nvmlDeviceGetHandleByUUID("GPU-abc"),
        p.nvmlDeviceGetHandleByPciBusId("00000001:C1:00.0"),
        p.nvmlDeviceGetHandleByPciBusId("0001:c1:00.0"),
        p.nvmlDeviceGetHandleBySerial("S2"),
    ):
        assert p.nvmlDeviceGetIndex(other) == 2
    assert (p.nvmlDeviceGetUUID(h), p.nvmlDeviceGetSerial(h)) == ("GPU-abc", "S2")
    pci = p.nvmlDeviceGetPciInfo(h)
    assert (pci.busId, pci.busIdLegacy, pci.domain, pci.bus) == ("00000001:C1:00.0", "0001:C1:00.0", 1, 0xC1)
    raises(p.NVMLError_NotFound, p.nvmlDeviceGetHandleByUUID, "GPU-none")
    raises(p.NVMLError_NotFound, p.nvmlDeviceGetHandleByPciBusId, "00000001:C2:00.0")
    assert (
        len({p.nvmlDeviceGetUUID(dev(i)) for i in range(8)})
        == 8
        == len({p.nvmlDeviceGetPciInfo(dev(i)).busId for i in range(8)})
    )
    raises(p.NVMLError_InvalidArgument, p.nvmlDeviceGetName, None)


@pytest.mark.parametrize(
    "model,name,arch,cc,gpm,mig",
    [
        ("h100", "NVIDIA H100 80GB HBM3", 9, [9, 0], 1, 1),
        ("h200", "NVIDIA H200", 9, [9, 0], 1, 1),
        ("b200", "NVIDIA B200", 10, [10, 0], 1, 1),
        ("a100", "NVIDIA A100-SXM4-80GB", 7, [8, 0], 0, 1),
        ("v100", "Tesla V100-SXM2-32GB", 5, [7, 0], 0, 0),
        ("l40s", "NVIDIA L40S", 8, [8, 9], 0, 0),
        ("t4", "Tesla T4", 6, [7, 5], 0, 0),
        ("rtx4090", "NVIDIA GeForce RTX 4090", 8, [8, 9], 0, 0),
    ],
)
def test_models(nv, model, name, arch, cc, gpm, mig):
    nv.write(f"gpu.*.model={model}\n")
    h = dev()
    assert (
        p.nvmlDeviceGetName(h),
        p.nvmlDeviceGetArchitecture(h),
        list(p.nvmlDeviceGetCudaComputeCapability(h)),
        p.nvmlGpmQueryDeviceSupport(h).isSupportedDevice,
    ) == (name, arch, cc, gpm)
    if mig:
        assert p.nvmlDeviceGetMigMode(h) == [0, 0] and p.nvmlDeviceGetMaxMigDeviceCount(h) == 7
        raises(p.NVMLError_NotSupported, p.nvmlDeviceGetRetiredPages, h, 0)
    else:
        raises(p.NVMLError_NotSupported, p.nvmlDeviceGetMigMode, h)
    if model in ("v100", "t4"):
        assert p.nvmlDeviceGetRetiredPages(h, 0) == []
        raises(p.NVMLError_NotSupported, p.nvmlDeviceGetRemappedRows, h)
    if model == "rtx4090":
        raises(p.NVMLError_NotSupported, p.nvmlDeviceGetSerial, h)
        raises(p.NVMLError_NotSupported, p.nvmlDeviceGetTotalEccErrors, h, 0, 0)
        assert p.nvmlDeviceGetFanSpeed(h) == 30 and p.nvmlDeviceGetNumFans(h) == 2


SCALARS = [
    ("MinorNumber", "minor", 5),
    ("Brand", "brand", 2),
    ("PowerUsage", "power_usage_mw", 312345),
    ("EnforcedPowerLimit", "enforced_power_limit_mw", 500000),
    ("PowerManagementLimit", "power_limit_mw", 600000),
    ("PowerManagementDefaultLimit", "power_default_limit_mw", 700001),
    ("TotalEnergyConsumption", "energy_mj", 2**40 + 7),
    ("CurrentClocksEventReasons", "event_reasons", 0x44),
    ("CurrentClocksThrottleReasons", "event_reasons", 0x44),
    ("PerformanceState", "pstate", 2),
    ("CurrPcieLinkGeneration", "pcie_gen", 3),
    ("CurrPcieLinkWidth", "pcie_width", 8),
    ("MaxPcieLinkGeneration", "pcie_gen_max", 4),
    ("MaxPcieLinkWidth", "pcie_width_max", 8),
    ("PcieReplayCounter", "pcie_replay", 77),
    ("PersistenceMode", "persistence", 0),
    ("ComputeMode", "compute_mode", 3),
    ("AccountingMode", "accounting_mode", 1),
    ("AccountingBufferSize", "accounting_buffer", 99),
    ("NumGpuCores", "cores", 123),
    ("MemoryBusWidth", "bus_width", 64),
    ("FanSpeed", "fan_speed", 44),
    ("NumFans", "num_fans", 3),
    ("VbiosVersion", "vbios", "1.2"),
    ("BoardPartNumber", "board_part", "x-1"),
    ("InforomImageVersion", "inforom", "G1"),
    ("SupportedClocksEventReasons", "event_reasons_supported", 3),
    ("DisplayActive", "display_active", 1),
    ("DisplayMode", "display_mode", 1),
    ("VirtualizationMode", "virtualization_mode", 1),
    ("PowerState", "pstate", 3),
    ("PowerManagementMode", "power_mode", 0),
    ("SupportedEventTypes", "event_types", 8),
    ("BoardId", "board_id", 9),
    ("MultiGpuBoard", "multigpu_board", 1),
    ("NumaNodeId", "numa_node", 1),
    ("MaxMigDeviceCount", "mig_max", 4),
    ("RetiredPagesPendingStatus", "retired_pending", 1),
]


@pytest.mark.parametrize("fn,key,val", SCALARS)
def test_scalar(nv, fn, key, val):
    f = getattr(p, "nvmlDeviceGet" + fn)
    nv.write(f"gpu.1.{key} = {val}\n")
    assert f(dev(1)) == val
    for name, exc in [
        ("NOT_SUPPORTED", p.NVMLError_NotSupported),
        ("NO_PERMISSION", p.NVMLError_NoPermission),
        ("UNKNOWN", p.NVMLError_Unknown),
    ]:
        nv.write(f"gpu.1.{key} = {name}\n")  # the value is an error
        raises(exc, f, dev(1))
        nv.write(f"gpu.1.return.nvmlDeviceGet{fn} = {name}\n")  # the call returns an error, on this GPU alone
        raises(exc, f, dev(1))
    nv.write("")
    h = dev(1)
    nv.write("gpu.1.lost=1\n")
    raises(p.NVMLError_GpuIsLost, f, h)


def test_odd_return_types(nv):
    nv.write("gpu.0.ecc_default=0\ngpu.0.gsp_version=1.1\n")
    assert p.nvmlDeviceGetDefaultEccMode(dev()) == [0] and p.nvmlDeviceGetGspFirmwareVersion(dev()) == b"1.1"


def test_pairs_and_structs(nv):
    nv.write(
        "gpu.0.util_gpu=91\ngpu.0.util_mem=43\ngpu.0.util_enc=5\ngpu.0.util_dec=6\ngpu.0.util_jpg=7\ngpu.0.util_ofa=8\ngpu.0.power_min_mw=1000\ngpu.0.power_max_mw=2000\ngpu.0.temp_gpu=81\ngpu.0.clock_sm=1755\ngpu.0.max_clock_mem=2620\ngpu.0.pcie_tx_kbps=1234\ngpu.0.pcie_rx_kbps=5678\ngpu.0.ecc_mode=1\ngpu.0.ecc_pending=0\ngpu.0.violation_thermal_ns=55\ngpu.0.temp_margin=-3\n"
    )
    h = dev()
    u = p.nvmlDeviceGetUtilizationRates(h)
    assert (u.gpu, u.memory) == (91, 43)
    assert [
        f(h)[0]
        for f in (
            p.nvmlDeviceGetEncoderUtilization,
            p.nvmlDeviceGetDecoderUtilization,
            p.nvmlDeviceGetJpgUtilization,
            p.nvmlDeviceGetOfaUtilization,
        )
    ] == [5, 6, 7, 8]
    assert p.nvmlDeviceGetPowerManagementLimitConstraints(h) == [1000, 2000]
    assert (
        p.nvmlDeviceGetTemperature(h, p.NVML_TEMPERATURE_GPU)
        == 81
        == p.nvmlDeviceGetTemperatureV(h, p.NVML_TEMPERATURE_GPU)
    )
    assert p.nvmlDeviceGetTemperatureThreshold(h, p.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN) == 89
    assert p.nvmlDeviceGetMarginTemperature(h) == -3
    assert (
        p.nvmlDeviceGetClockInfo(h, p.NVML_CLOCK_SM) == 1755
        and p.nvmlDeviceGetMaxClockInfo(h, p.NVML_CLOCK_MEM) == 2620
    )
    raises(p.NVMLError_InvalidArgument, p.nvmlDeviceGetClockInfo, h, 9)
    assert (
        p.nvmlDeviceGetPcieThroughput(h, p.NVML_PCIE_UTIL_TX_BYTES) == 1234
        and p.nvmlDeviceGetPcieThroughput(h, p.NVML_PCIE_UTIL_RX_BYTES) == 5678
    )
    assert p.nvmlDeviceGetEccMode(h) == [1, 0] and p.nvmlDeviceGetViolationStatus(h, 1).violationTime == 55


def test_memory(nv):
    nv.write(
        "gpu.0.mem_total=80GiB\ngpu.0.mem_reserved=1GiB\ngpu.0.mem_used=20GiB\ngpu.0.bar1_total=64GiB\ngpu.0.bar1_used=3MiB\n"
    )
    h, G = dev(), 2**30
    m = p.nvmlDeviceGetMemoryInfo(h)
    assert (m.total, m.used, m.free) == (80 * G, 21 * G, 59 * G)  # v1: used counts the reserve
    m = p.nvmlDeviceGetMemoryInfo(h, version=p.nvmlMemory_v2)
    assert (m.total, m.reserved, m.used, m.free) == (80 * G, G, 20 * G, 59 * G)  # v2: apart
    b = p.nvmlDeviceGetBAR1MemoryInfo(h)
    assert (b.bar1Total, b.bar1Used, b.bar1Free) == (64 * G, 3 << 20, 64 * G - (3 << 20))


# ---- processes ----
def test_processes(nv):
    kid = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        nv.write(
            f"hide_dead_pids=1\nclock_s=2000\ngpu.0.proc.0 = pid={kid.pid} type=C mem=10GiB sm=70 memutil=30 enc=1 dec=2\ngpu.0.proc.1 = pid=self type=C mem=N/A\ngpu.0.proc.2 = pid=self type=G mem=5MiB\ngpu.0.proc.3 = pid=self type=M mem=7MiB\n"
        )
        h = dev()
        c = p.nvmlDeviceGetComputeRunningProcesses(h)
        assert [(x.pid, x.usedGpuMemory, x.gpuInstanceId) for x in c] == [
            (kid.pid, 10 << 30, 0xFFFFFFFF),
            (os.getpid(), None, 0xFFFFFFFF),
        ]
        assert [x.usedGpuMemory for x in p.nvmlDeviceGetGraphicsRunningProcesses(h)] == [5 << 20]
        assert [x.usedGpuMemory for x in p.nvmlDeviceGetMPSComputeRunningProcesses(h)] == [7 << 20]
        assert len(p.nvmlDeviceGetComputeRunningProcesses_v2(h)) == 2
        s = p.nvmlDeviceGetProcessUtilization(h, 0)
        assert [(x.pid, x.smUtil, x.memUtil, x.encUtil, x.decUtil, x.timeStamp) for x in s] == [
            (kid.pid, 70, 30, 1, 2, 2000_000_000)
        ]
        raises(p.NVMLError_NotFound, p.nvmlDeviceGetProcessUtilization, h, 2000_000_000)  # nothing newer
        assert p.nvmlDeviceGetProcessesUtilizationInfo(h, 0)[0].smUtil == 70
        assert p.nvmlDeviceGetMemoryInfo(h, version=p.nvmlMemory_v2).used == (10 << 30) + (12 << 20)
    finally:
        kid.kill()
        kid.wait()
    assert [x.pid for x in p.nvmlDeviceGetComputeRunningProcesses(h)] == [
        os.getpid()
    ]  # the real PID went, so did the entry
    nv.write("".join(f"gpu.0.proc.{i} = pid={i + 10} mem=1MiB\n" for i in range(300)))
    assert len(p.nvmlDeviceGetComputeRunningProcesses(h)) == 300
    nv.write("gpu.0.return.nvmlDeviceGetComputeRunningProcesses = NO_PERMISSION\n")  # name without _v3 also matches
    raises(p.NVMLError_NoPermission, p.nvmlDeviceGetComputeRunningProcesses, h)


def test_accounting(nv):
    nv.write(
        "gpu.0.accounting_mode=1\ngpu.0.acct.0 = pid=42 gpu_util=55 mem_util=20 max_mem=1GiB time_ms=900 start_us=17 running=0\n"
    )
    h = dev()
    assert p.nvmlDeviceGetAccountingPids(h) == [42]
    a = p.nvmlDeviceGetAccountingStats(h, 42)
    assert (a.gpuUtilization, a.memoryUtilization, a.maxMemoryUsage, a.time, a.startTime, a.isRunning) == (
        55,
        20,
        1 << 30,
        900,
        17,
        0,
    )
    raises(p.NVMLError_NotFound, p.nvmlDeviceGetAccountingStats, h, 43)


def test_samples(nv):
    nv.write("clock_s=5000\ngpu.0.power_usage_mw=250000\ngpu.0.util_gpu=saw(0,100,10)\n")
    h = dev()
    t, s = p.nvmlDeviceGetSamples(h, p.NVML_TOTAL_POWER_SAMPLES, 0)
    assert t == p.NVML_VALUE_TYPE_UNSIGNED_INT and len(s) == 120 and s[0].sampleValue.uiVal == 250000
    assert [b.timeStamp - a.timeStamp for a, b in zip(s, s[1:])] == [100_000] * 119 and s[-1].timeStamp == 5000_000_000
    t, s = p.nvmlDeviceGetSamples(h, p.NVML_GPU_UTILIZATION_SAMPLES, 4999_500_000)
    assert [x.sampleValue.uiVal for x in s] == [96, 97, 98, 99, 0]
    raises(p.NVMLError_NotFound, p.nvmlDeviceGetSamples, h, p.NVML_GPU_UTILIZATION_SAMPLES, 5000_000_000)


# ---- ECC, rows, pages ----
def test_ecc_rows_pages(nv):
    nv.write(
        "gpu.0.ecc_sbe_vol=1\ngpu.0.ecc_dbe_vol=2\ngpu.0.ecc_sbe_agg=3\ngpu.0.ecc_dbe_agg=4\ngpu.0.remapped_corr=5\ngpu.0.remapped_unc=6\ngpu.0.remapped_pending=1\ngpu.0.remapped_failure=1\ngpu.0.remap_hist=630,8,2,0,0\ngpu.0.retired_sbe=0x1000,0x2000\ngpu.0.retired_dbe=\ngpu.0.retired_pending=1\n"
    )
    h = dev()
    assert [p.nvmlDeviceGetTotalEccErrors(h, t, c) for c in (0, 1) for t in (0, 1)] == [1, 2, 3, 4]
    assert p.nvmlDeviceGetMemoryErrorCounter(h, 1, 1, p.NVML_MEMORY_LOCATION_DEVICE_MEMORY) == 4
    assert p.nvmlDeviceGetDetailedEccErrors(h, 1, 0).deviceMemory == 2
    assert p.nvmlDeviceGetRemappedRows(h) == (5, 6, 1, 1)
    assert (p.nvmlDeviceGetRowRemapperHistogram(h).max, p.nvmlDeviceGetRowRemapperHistogram(h).high) == (630, 8)
    assert p.nvmlDeviceGetRetiredPages(h, 0) == [0x1000, 0x2000] and p.nvmlDeviceGetRetiredPages(h, 1) == []
    assert [x["address"] for x in p.nvmlDeviceGetRetiredPages_v2(h, 0)] == [0x1000, 0x2000]
    assert fv(h, 142, 143, 144, 145, 4, 6) == [(0, 5), (0, 6), (0, 1), (0, 1), (0, 2), (0, 4)]
    nv.write("gpu.0.ecc_mode=0\n")
    raises(p.NVMLError_NotSupported, p.nvmlDeviceGetTotalEccErrors, h, 0, 0)


# ---- field values ----
def test_fields(nv):
    nv.write(
        "clock_s=7\ngpu.0.power_usage_mw=123000\ngpu.0.power_instant_mw=130000\ngpu.0.temp_mem=60\ngpu.0.field.31=NOT_SUPPORTED\ngpu.0.field.200=9\ngpu.0.field.222.3=1.5:double\ngpu.0.field.196=-5:int\ngpu.0.nvlink_tx_kib=1000\ngpu.0.nvlink.3.tx_kib=4000\ngpu.0.nvlink.5.crc_flit=2\ngpu.0.nvlink.2.state=0\ngpu.0.pcie_tx_bytes=77\n"
    )
    h = dev()
    assert fv(h, 185, 186, 82, 31, 200, 196, 91, 197) == [
        (0, 123000),
        (0, 130000),
        (0, 60),
        (3, None),
        (0, 9),
        (0, -5),
        (0, 18),
        (0, 77),
    ]
    assert fv(h, (222, 3), (222, 4), (138, 3), (138, 0), (138, 0xFFFFFFFF)) == [
        (0, 1.5),
        (3, None),
        (0, 4000),
        (0, 1000),
        (0, 21000),
    ]
    assert fv(h, 37, 38, 36, 90, (165, 2), (165, 1), (163, 5)) == [
        (0, 2),
        (0, 2),
        (0, 0),
        (0, 26562),
        (0, 0),
        (0, 1),
        (0, 2),
    ]
    assert fv(h, 9999, 250) == [(2, None), (3, None)]
    v = p.nvmlDeviceGetFieldValues(h, [185])[0]
    assert v.timestamp == 7_000_000 and v.valueType == p.NVML_VALUE_TYPE_UNSIGNED_INT
    nv.write("gpu.0.return.nvmlDeviceGetFieldValues=UNKNOWN\n")
    raises(p.NVMLError_Unknown, p.nvmlDeviceGetFieldValues, h, [185])
    nv.write("gpu.*.model=b200\ngpu.0.nvlink.1.tx_kib=3\n")
    assert fv(dev(), (202, 1), (204, 1)) == [(0, 3072), (0, 0)]
    p.nvmlDeviceClearFieldValues(h, [38])


def test_nvlink(nv):
    nv.write("gpu.0.nvlink_count=4\ngpu.0.nvlink.1.state=0\ngpu.0.nvlink.1.replay=9\ngpu.1.nvlink_count=0\n")
    h = dev()
    assert [p.nvmlDeviceGetNvLinkState(h, i) for i in range(4)] == [1, 0, 1, 1]
    raises(p.NVMLError_InvalidArgument, p.nvmlDeviceGetNvLinkState, h, 4)
    assert (
        p.nvmlDeviceGetNvLinkErrorCounter(h, 1, p.NVML_NVLINK_ERROR_DL_REPLAY) == 9
        and p.nvmlDeviceGetNvLinkVersion(h, 0) == 7
    )
    assert p.nvmlDeviceGetNvLinkCapability(h, 0, 0) == 1
    raises(p.NVMLError_NotSupported, p.nvmlDeviceGetNvLinkState, dev(1), 0)


# ---- MIG ----
def test_mig(nv):
    nv.write(
        "clock_s=100\ngpu.0.mig_mode=1\ngpu.0.mig.0 = gi=1 ci=0 profile=3g.40gb mem_total=40GiB sms=60 gslice=3 cslice=3 uuid=MIG-aa\ngpu.0.mig.2 = gi=5 ci=0 profile=1g.10gb mem_total=10GiB\n"
        "gpu.0.proc.0 = pid=self mem=1GiB sm=50 gi=1 ci=0\ngpu.0.proc.1 = pid=1 mem=2GiB sm=50 gi=5 ci=0\n"
    )
    h = dev()
    assert p.nvmlDeviceGetMigMode(h) == [1, 1] and p.nvmlDeviceGetMaxMigDeviceCount(h) == 7
    m = p.nvmlDeviceGetMigDeviceHandleByIndex(h, 0)
    raises(p.NVMLError_NotFound, p.nvmlDeviceGetMigDeviceHandleByIndex, h, 1)
    raises(p.NVMLError_InvalidArgument, p.nvmlDeviceGetMigDeviceHandleByIndex, h, 7)
    assert (p.nvmlDeviceIsMigDeviceHandle(m).value, p.nvmlDeviceIsMigDeviceHandle(h).value) == (
        1,
        0,
    )  # pynvml hands back a c_uint here
    assert (p.nvmlDeviceGetGpuInstanceId(m), p.nvmlDeviceGetComputeInstanceId(m), p.nvmlDeviceGetUUID(m)) == (
        1,
        0,
        "MIG-aa",
    )
    assert p.nvmlDeviceGetName(m) == "NVIDIA H100 80GB HBM3 MIG 3g.40gb"
    assert p.nvmlDeviceGetIndex(p.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(m)) == 0
    assert p.nvmlDeviceGetGpuInstanceId(p.nvmlDeviceGetHandleByUUID("MIG-aa")) == 1
    a = p.nvmlDeviceGetAttributes(m)
    assert (a.multiprocessorCount, a.gpuInstanceSliceCount, a.memorySizeMB) == (60, 3, 40960)
    mm = p.nvmlDeviceGetMemoryInfo(m)
    assert (mm.total, mm.used) == (40 << 30, 1 << 30)
    assert [(x.pid, x.gpuInstanceId) for x in p.nvmlDeviceGetComputeRunningProcesses(m)] == [(os.getpid(), 1)]
    assert [x.gpuInstanceId for x in p.nvmlDeviceGetComputeRunningProcesses(h)] == [1, 5]
    for f in (p.nvmlDeviceGetUtilizationRates, p.nvmlDeviceGetEncoderUtilization, p.nvmlDeviceGetDecoderUtilization):
        raises(p.NVMLError_NotSupported, f, h)  # as nvml.h says of MIG-enabled GPUs
    raises(p.NVMLError_NotSupported, p.nvmlDeviceGetProcessUtilization, h, 0)
    raises(p.NVMLError_NotSupported, p.nvmlDeviceGetPowerUsage, m)
    assert p.nvmlDeviceGetPowerUsage(h) == 70000
    raises(p.NVMLError_InvalidArgument, p.nvmlDeviceGetGpuInstanceId, h)
    nv.write("gpu.0.mig_mode=0\n")
    raises(p.NVMLError_NotFound, p.nvmlDeviceGetUUID, m)  # the instance was destroyed


# ---- GPM ----
def gpm(h, ids, take=p.nvmlGpmSampleGet, step=None):
    a, b = p.nvmlGpmSampleAlloc(), p.nvmlGpmSampleAlloc()
    take(h, a)
    if step:
        step()
    take(h, b)
    g = p.c_nvmlGpmMetricsGet_t()
    g.version = p.NVML_GPM_METRICS_GET_VERSION
    g.numMetrics = len(ids)
    g.sample1, g.sample2 = a, b
    for i, x in enumerate(ids):
        g.metrics[i].metricId = x
    try:
        p.nvmlGpmMetricsGet(g)
        return [(g.metrics[i].nvmlReturn, g.metrics[i].value) for i in range(len(ids))], g.metrics[
            0
        ].metricInfo.shortName
    finally:
        p.nvmlGpmSampleFree(a)
        p.nvmlGpmSampleFree(b)


def test_gpm(nv):
    base = (
        "gpu.0.util_gpu=80\ngpu.0.util_mem=40\ngpu.0.gpm.5=37.5\ngpu.0.gpm.11=UNKNOWN\ngpu.0.gpm_min_interval_ms=100\n"
    )
    nv.write(base + "clock_s=10\n")
    h = dev()
    r, name = gpm(h, [1, 2, 5, 10, 11, 300], step=lambda: nv.write(base + "clock_s=11\n"))
    assert (
        r[0] == (0, 80)
        and r[1] == (0, pytest.approx(73.6))
        and r[2] == (0, 37.5)
        and r[3] == (0, 40)
        and r[4][0] == 999
        and r[5][0] == 3
        and name in ("GRACT", b"GRACT")
    )
    raises(p.NVMLError_InvalidArgument, gpm, h, [1])  # both samples at one instant
    nv.write("gpu.0.mig_mode=1\ngpu.0.mig.0 = gi=3\ngpu.0.gpm.1=50\ngpu.0.gpm.1.gi3=90\n")
    assert gpm(h, [1], take=lambda d, s: p.nvmlGpmMigSampleGet(d, 3, s))[0] == [(0, 90)]
    assert gpm(p.nvmlDeviceGetMigDeviceHandleByIndex(h, 0), [1])[0] == [(0, 90)] and gpm(h, [1])[0] == [(0, 50)]
    nv.write("gpu.*.model=a100\n")
    raises(p.NVMLError_NotSupported, gpm, h, [1])
    assert p.nvmlGpmQueryIfStreamingEnabled(h) == 0


# ---- events ----
def test_events(nv):
    h = dev(3)
    nv.write("event.1 = gpu=3 type=xid data=13\n")
    s = p.nvmlEventSetCreate()
    p.nvmlDeviceRegisterEvents(h, p.nvmlEventTypeXidCriticalError | p.nvmlEventTypeDoubleBitEccError, s)
    t = time.monotonic()
    raises(p.NVMLError_Timeout, p.nvmlEventSetWait_v2, s, 60)  # event 1 came before the set
    assert 0.055 < time.monotonic() - t < 0.5
    th = threading.Timer(
        0.1,
        lambda: nv.write(
            "event.1 = gpu=3 type=xid data=13\nevent.2 = gpu=3 type=xid data=79\nevent.3 = gpu=4 data=31\nevent.4 = gpu=3 type=dbe\nevent.5 = gpu=3 type=sbe\n"
        ),
    )
    th.start()
    e = p.nvmlEventSetWait_v2(s, 3000)  # wakes when the file changes
    assert (p.nvmlDeviceGetIndex(e.device), e.eventType, e.eventData, e.gpuInstanceId) == (3, 8, 79, 0xFFFFFFFF)
    assert p.nvmlEventSetWait(s, 100).eventType == 2
    raises(p.NVMLError_Timeout, p.nvmlEventSetWait_v2, s, 10)
    nv.write("gpu.3.lost=1\n")
    raises(p.NVMLError_GpuIsLost, p.nvmlEventSetWait_v2, s, 1000)
    p.nvmlEventSetFree(s)
    nv.write("gpu.0.event_types=2\n")
    s = p.nvmlEventSetCreate()
    raises(p.NVMLError_NotSupported, p.nvmlDeviceRegisterEvents, dev(0), 8, s)
    p.nvmlEventSetFree(s)


# ---- failures, latency, change over time ----
def test_lost_mid_run(nv):
    hs = [dev(i) for i in range(8)]
    assert [p.nvmlDeviceGetPowerUsage(h) for h in hs] == [70000] * 8
    nv.write("gpu.5.lost=1\ngpu.5.return.nvmlDeviceGetUUID=SUCCESS\n")
    assert p.nvmlDeviceGetCount() == 8
    raises(p.NVMLError_GpuIsLost, p.nvmlDeviceGetPowerUsage, hs[5])
    raises(p.NVMLError_GpuIsLost, p.nvmlDeviceGetHandleByIndex, 5)
    assert p.nvmlDeviceGetUUID(hs[5]).startswith("GPU-") and p.nvmlDeviceGetPowerUsage(hs[4]) == 70000
    nv.write("gpu.5.return.* = RESET_REQUIRED\n")
    raises(p.NVMLError_ResetRequired, p.nvmlDeviceGetTemperature, hs[5], 0)
    nv.write("")
    assert p.nvmlDeviceGetPowerUsage(hs[5]) == 70000


def test_every_third_call_fails(nv):
    nv.write("return.nvmlDeviceGetPowerUsage = UNKNOWN/3\n")
    h, nvok = dev(), []
    nv.reset()
    for _ in range(9):
        try:
            p.nvmlDeviceGetPowerUsage(h)
            nvok.append(1)
        except p.NVMLError_Unknown:
            nvok.append(0)
    assert (
        nvok == [1, 1, 0] * 3
        and nv.calls("nvmlDeviceGetPowerUsage") == 9
        and nv.called()["nvmlDeviceGetPowerUsage"] == 9
    )


def test_latency(nv):
    nv.write("latency_us.nvmlDeviceGetPcieThroughput = 20000\ngpu.1.latency_us = 5000\n")

    def took(f, *a):
        t = time.perf_counter()
        f(*a)
        return time.perf_counter() - t

    assert took(p.nvmlDeviceGetPowerUsage, dev(0)) < 0.002
    assert 0.005 <= took(p.nvmlDeviceGetPowerUsage, dev(1)) < 0.02
    assert 0.020 <= took(p.nvmlDeviceGetPcieThroughput, dev(0), 0) < 0.05
    nv.write("gpu.0.latency_us.nvmlDeviceGetPowerUsage = 60000000\n")  # a hang of a minute ...
    threading.Timer(0.2, nv.write, [""]).start()
    assert 0.2 <= took(p.nvmlDeviceGetPowerUsage, dev(0)) < 1  # ... ends when the scenario drops it
    nv.write("gpu.*.latency_us = 20000\n")  # ctypes lets the GIL go: 4 calls overlap

    def four():
        ts = [threading.Thread(target=p.nvmlDeviceGetPowerUsage, args=(dev(0),)) for _ in range(4)]
        h = dev(0)
        [t.start() for t in ts]
        [t.join() for t in ts]

    par = took(four)
    nv.write("gpu.*.latency_us = 20000\nlatency_serialize=1\n")  # one lock, as in the driver
    assert par < 0.06 and took(four) >= 0.08


def test_values_over_time(nv):
    h = dev()

    def at(t, s):
        nv.write(f"clock_s={t}\nt0=0\n{s}\n")
        return p.nvmlDeviceGetPowerUsage(h)

    assert [at(t, "gpu.0.power_usage_mw=square(100,900,10)") for t in (0, 4, 5, 9)] == [100, 100, 900, 900]
    assert [at(t, "gpu.0.power_usage_mw=rate(1000,50)") for t in (0, 1, 10)] == [1000, 1050, 1500]
    assert at(2.5, "gpu.0.power_usage_mw=sine(500,100,10)") == 600
    x = [at(t / 10, "gpu.0.power_usage_mw=noise(500,100)") for t in range(50)]
    assert (
        all(400 <= v <= 600 for v in x)
        and len(set(x)) > 20
        and x == [at(t / 10, "gpu.0.power_usage_mw=noise(500,100)") for t in range(50)]
    )

    def energy(t, mw):
        nv.write(f"clock_s={t}\ngpu.6.power_usage_mw={mw}\n")
        return p.nvmlDeviceGetTotalEnergyConsumption(dev(6))

    e0 = energy(2e6, 300000)
    assert energy(2e6 + 10, 300000) - e0 == 3_000_000  # 300 W for 10 s = 3 kJ


def test_latest_wins_and_ranges(nv):
    nv.write("gpu.*.power_usage_mw=1\ngpu.2-4.power_usage_mw=2\ngpu.3.power_usage_mw=3\n# a comment\n\n")
    assert [p.nvmlDeviceGetPowerUsage(dev(i)) for i in range(6)] == [1, 1, 2, 3, 2, 1]


def test_concurrent_reload(nv):
    """8 threads read while the file is replaced: no torn or stale-beyond-one value, no crash."""
    stop, bad, hs = threading.Event(), [], [dev(i) for i in range(8)]
    nv.write("gpu.*.power_usage_mw=1000\ngpu.*.power_limit_mw=1000\n")

    def reader(h):
        while not stop.is_set():
            v = p.nvmlDeviceGetPowerUsage(h)
            if v % 1000:
                bad.append(v)

    ts = [threading.Thread(target=reader, args=(h,)) for h in hs]
    [t.start() for t in ts]
    for i in range(1, 300):
        nv.write(f"gpu.*.power_usage_mw={i * 1000}\n")
    stop.set()
    [t.join() for t in ts]
    assert not bad and p.nvmlDeviceGetPowerUsage(hs[0]) == 299000


def test_child_process_needs_only_the_environment(nv):
    nv.write("count=2\ngpu.*.name=Child GPU\n")
    env = {**os.environ, **child_env(nv.scenario_path)}
    out = subprocess.run(
        [
            sys.executable,
            "-c",
            "import pynvml as p; p.nvmlInit(); print(p.nvmlDeviceGetCount(), p.nvmlDeviceGetName(p.nvmlDeviceGetHandleByIndex(1)))",
        ],
        env=env,
        capture_output=True,
        text=True,
    )
    assert out.stdout.strip() == "2 Child GPU", out.stderr


def test_the_rest_of_nvml_h_is_exported(nv):
    """As with a real driver: an unmodelled call answers NOT_SUPPORTED and is not a missing symbol."""
    raises(p.NVMLError_NotSupported, p.nvmlDeviceGetCurrentDriverModel, dev())
    missing = []
    for name in sorted(n for n in dir(p) if n.startswith("nvmlDeviceGet")):
        try:
            getattr(p, name)(dev())
        except TypeError:
            pass
        except p.NVMLError as e:
            if e.value == p.NVML_ERROR_FUNCTION_NOT_FOUND:
                missing.append(name)
    assert missing == []
    nv.write("return.nvmlDeviceGetDriverModel=UNKNOWN\n")
    raises(p.NVMLError_Unknown, p.nvmlDeviceGetCurrentDriverModel, dev())
    nv.write("return.nvmlDeviceGetPowerUsage=FUNCTION_NOT_FOUND\n")  # what an older driver looks like
    raises(p.NVMLError_FunctionNotFound, p.nvmlDeviceGetPowerUsage, dev())
