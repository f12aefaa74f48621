/* Calls that return one key, or two, of the GPU. */
#include "fakenvml.h"

#define NUM(fn, T, key, fl)          \
    API fn(nvmlDevice_t d, T *o)     \
    {                                \
        ENTER(d, fl);                \
        NEED(o);                     \
        u64 u;                       \
        r = gpu_u64(c.gpu, key, &u); \
        if (!r)                      \
            *o = (T)u;               \
        return leave(r);             \
    }

NUM(nvmlDeviceGetMinorNumber, unsigned, "minor", 0)
NUM(nvmlDeviceGetBrand, nvmlBrandType_t, "brand", 0)
NUM(nvmlDeviceGetArchitecture, nvmlDeviceArchitecture_t, "arch", 0)
NUM(nvmlDeviceGetNumGpuCores, unsigned, "cores", 0)
NUM(nvmlDeviceGetMemoryBusWidth, unsigned, "bus_width", 0)
NUM(nvmlDeviceGetBoardId, unsigned, "board_id", 0)
NUM(nvmlDeviceGetMultiGpuBoard, unsigned, "multigpu_board", 0)
NUM(nvmlDeviceGetNumaNodeId, unsigned, "numa_node", 0)
NUM(nvmlDeviceGetPowerUsage, unsigned, "power_usage_mw", 0)
NUM(nvmlDeviceGetEnforcedPowerLimit, unsigned, "enforced_power_limit_mw", 0)
NUM(nvmlDeviceGetPowerManagementLimit, unsigned, "power_limit_mw", 0)
NUM(nvmlDeviceGetPowerManagementDefaultLimit, unsigned, "power_default_limit_mw", 0)
NUM(nvmlDeviceGetPowerManagementMode, nvmlEnableState_t, "power_mode", 0)
NUM(nvmlDeviceGetTotalEnergyConsumption, unsigned long long, "energy_mj", 0)
NUM(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long, "event_reasons", 0)
NUM(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, "event_reasons", 0)
NUM(nvmlDeviceGetSupportedClocksEventReasons, unsigned long long, "event_reasons_supported", 0)
NUM(nvmlDeviceGetSupportedClocksThrottleReasons, unsigned long long, "event_reasons_supported", 0)
NUM(nvmlDeviceGetPerformanceState, nvmlPstates_t, "pstate", 0)
NUM(nvmlDeviceGetPowerState, nvmlPstates_t, "pstate", 0)
NUM(nvmlDeviceGetCurrPcieLinkGeneration, unsigned, "pcie_gen", 0)
NUM(nvmlDeviceGetCurrPcieLinkWidth, unsigned, "pcie_width", 0)
NUM(nvmlDeviceGetMaxPcieLinkGeneration, unsigned, "pcie_gen_max", 0)
NUM(nvmlDeviceGetMaxPcieLinkWidth, unsigned, "pcie_width_max", 0)
NUM(nvmlDeviceGetPcieReplayCounter, unsigned, "pcie_replay", 0)
NUM(nvmlDeviceGetPersistenceMode, nvmlEnableState_t, "persistence", 0)
NUM(nvmlDeviceGetComputeMode, nvmlComputeMode_t, "compute_mode", 0)
NUM(nvmlDeviceGetAccountingMode, nvmlEnableState_t, "accounting_mode", 0)
NUM(nvmlDeviceGetAccountingBufferSize, unsigned, "accounting_buffer", 0)
NUM(nvmlDeviceGetDisplayActive, nvmlEnableState_t, "display_active", 0)
NUM(nvmlDeviceGetDisplayMode, nvmlEnableState_t, "display_mode", 0)
NUM(nvmlDeviceGetFanSpeed, unsigned, "fan_speed", 0)
NUM(nvmlDeviceGetNumFans, unsigned, "num_fans", 0)
NUM(nvmlDeviceGetVirtualizationMode, nvmlGpuVirtualizationMode_t, "virtualization_mode", 0)
NUM(nvmlDeviceGetDefaultEccMode, nvmlEnableState_t, "ecc_default", 0)
NUM(nvmlDeviceGetSupportedEventTypes, unsigned long long, "event_types", 0)
NUM(nvmlDeviceGetRetiredPagesPendingStatus, nvmlEnableState_t, "retired_pending", 0)
NUM(nvmlDeviceGetMaxMigDeviceCount, unsigned, "mig_max", 0)

#define TWO(fn, T, k1, k2, fl)                                            \
    API fn(nvmlDevice_t d, T *a, T *b)                                    \
    {                                                                     \
        ENTER(d, fl);                                                     \
        NEED(a && b);                                                     \
        u64 x, y;                                                         \
        if ((r = gpu_u64(c.gpu, k1, &x)) || (r = gpu_u64(c.gpu, k2, &y))) \
            return leave(r);                                              \
        *a = (T)x;                                                        \
        *b = (T)y;                                                        \
        return leave(0);                                                  \
    }

TWO(nvmlDeviceGetEncoderUtilization, unsigned, "util_enc", "util_period_us", NOT_IN_MIG_MODE)
TWO(nvmlDeviceGetDecoderUtilization, unsigned, "util_dec", "util_period_us", NOT_IN_MIG_MODE)
TWO(nvmlDeviceGetJpgUtilization, unsigned, "util_jpg", "util_period_us", NOT_IN_MIG_MODE)
TWO(nvmlDeviceGetOfaUtilization, unsigned, "util_ofa", "util_period_us", NOT_IN_MIG_MODE)
TWO(nvmlDeviceGetPowerManagementLimitConstraints, unsigned, "power_min_mw", "power_max_mw", 0)
TWO(nvmlDeviceGetEccMode, nvmlEnableState_t, "ecc_mode", "ecc_pending", 0)
TWO(nvmlDeviceGetMigMode, unsigned, "mig_mode", "mig_pending", 0)
