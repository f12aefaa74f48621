/* Utilization, temperatures, clocks, PCIe traffic and time spent throttled. */
#include "fakenvml.h"
#include <stdio.h>

API nvmlDeviceGetUtilizationRates(nvmlDevice_t d, nvmlUtilization_t *o)
{
    ENTER(d, NOT_IN_MIG_MODE);
    NEED(o);
    if ((r = gpu_u32(c.gpu, "util_gpu", &o->gpu)))
        return leave(r);
    return leave(gpu_u32(c.gpu, "util_mem", &o->memory));
}

API nvmlDeviceGetTemperature(nvmlDevice_t d, nvmlTemperatureSensors_t s, unsigned *o)
{
    ENTER(d, 0);
    NEED(o && s == 0);
    return leave(gpu_u32(c.gpu, "temp_gpu", o));
}

API nvmlDeviceGetTemperatureV(nvmlDevice_t d, nvmlTemperature_t *o)
{
    ENTER(d, 0);
    NEED(o);
    if (o->version != nvmlTemperature_v1)
        return leave(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    NEED(o->sensorType == 0);
    u64 u;
    if ((r = gpu_u64(c.gpu, "temp_gpu", &u)))
        return leave(r);
    o->temperature = (int)u;
    return leave(0);
}

API nvmlDeviceGetMarginTemperature(nvmlDevice_t d, nvmlMarginTemperature_t *o)
{
    ENTER(d, 0);
    NEED(o);
    u64 u;
    if ((r = gpu_u64(c.gpu, "temp_margin", &u)))
        return leave(r);
    o->marginTemperature = (int)u;
    return leave(0);
}

API nvmlDeviceGetTemperatureThreshold(nvmlDevice_t d, nvmlTemperatureThresholds_t t, unsigned *o)
{
    ENTER(d, 0);
    NEED(o);
    char k[64];
    snprintf(k, sizeof k, "temp_threshold.%d", (int)t);
    return leave(gpu_u32(c.gpu, k, o));
}

static const char *CLOCK_KEYS[] = {"clock_graphics", "clock_sm", "clock_mem", "clock_video"};
API nvmlDeviceGetClockInfo(nvmlDevice_t d, nvmlClockType_t t, unsigned *o)
{
    ENTER(d, 0);
    NEED(o && (unsigned)t < 4);
    return leave(gpu_u32(c.gpu, CLOCK_KEYS[t], o));
}

API nvmlDeviceGetMaxClockInfo(nvmlDevice_t d, nvmlClockType_t t, unsigned *o)
{
    ENTER(d, 0);
    NEED(o && (unsigned)t < 4);
    char k[64];
    snprintf(k, sizeof k, "max_%s", CLOCK_KEYS[t]);
    return leave(gpu_u32(c.gpu, k, o));
}

API nvmlDeviceGetPcieThroughput(nvmlDevice_t d, nvmlPcieUtilCounter_t t, unsigned *o)
{
    ENTER(d, 0);
    NEED(o && (unsigned)t < 2);
    return leave(gpu_u32(c.gpu, t ? "pcie_rx_kbps" : "pcie_tx_kbps", o));
}

static const char *VIOLATION_KEYS[] = {"violation_power_ns",
                                       "violation_thermal_ns",
                                       "violation_syncboost_ns",
                                       "violation_board_ns",
                                       "violation_lowutil_ns",
                                       "violation_reliability_ns",
                                       0,
                                       0,
                                       0,
                                       0,
                                       "violation_appclk_ns",
                                       "violation_baseclk_ns"};
API nvmlDeviceGetViolationStatus(nvmlDevice_t d, nvmlPerfPolicyType_t t, nvmlViolationTime_t *o)
{
    ENTER(d, 0);
    NEED(o && (unsigned)t < 12 && VIOLATION_KEYS[t]);
    u64 u;
    if ((r = gpu_u64(c.gpu, VIOLATION_KEYS[t], &u)))
        return leave(r);
    o->violationTime = u;
    o->referenceTime = (u64)(now_s() * 1e6);
    return leave(0);
}
