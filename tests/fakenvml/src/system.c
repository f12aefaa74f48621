/* Starting and ending NVML, and what is asked of the driver and not of a GPU. */
#include "fakenvml.h"
#include <stdio.h>

static nvmlReturn_t initialise(const char *fn)
{
    choose_scenario();
    refresh(0);
    latency(-1, fn, 0);
    pthread_rwlock_rdlock(&scenario_lock);
    const char *o = override_for(-1, "return", fn);
    if (!o)
        o = override_for(-1, "return", "nvmlInit");
    int r = o ? return_code(o) : 0;
    if (!r) {
        if (init_count == 0)
            gpu_count = atoi(global_text("count"));
        init_count++;
    }
    return leave(r < 0 ? NVML_ERROR_UNKNOWN : r);
}

API nvmlInit_v2(void)
{
    return initialise("nvmlInit");
}

API nvmlInitWithFlags(unsigned int flags)
{
    (void)flags;
    return initialise("nvmlInit");
}

API nvmlShutdown(void)
{
    if (init_count <= 0)
        return NVML_ERROR_UNINITIALIZED;
    init_count--;
    return 0;
}

nvmlReturn_t nvmlInit(void) __attribute__((alias("nvmlInit_v2"), visibility("default")));
const char *nvmlErrorString(nvmlReturn_t r)
{
    switch ((int)r) {
    case 0: return "The operation was successful";
    case 1: return "Uninitialized";
    case 2: return "Invalid Argument";
    case 3: return "Not Supported";
    case 4: return "Insufficient Permissions";
    case 5: return "Already Initialized";
    case 6: return "Not Found";
    case 7: return "Insufficient Size";
    case 8: return "Insufficient External Power";
    case 9: return "Driver Not Loaded";
    case 10: return "Timeout";
    case 11: return "Interrupt Request Issue";
    case 12: return "NVML Shared Library Not Found";
    case 13: return "Function Not Found";
    case 14: return "Corrupted infoROM";
    case 15: return "GPU is lost";
    case 16: return "GPU requires reset";
    case 17: return "The operating system has blocked the request.";
    case 18: return "Driver/library version mismatch";
    case 19: return "In use by another client";
    case 20: return "Insufficient Memory";
    case 21: return "No data";
    case 25: return "Argument version mismatch";
    case 999: return "Unknown Error";
    }
    return "Unknown Error";
}

void update_count(void)
{
    if (!atoi(global_text("count_latch")))
        gpu_count = atoi(global_text("count"));
    if (gpu_count > MAX_GPUS)
        gpu_count = MAX_GPUS;
}

API nvmlSystemGetDriverVersion(char *o, unsigned n)
{
    ENTER(0, NO_DEVICE);
    return leave(copy_text(o, n, global_text("driver_version")));
}

API nvmlSystemGetNVMLVersion(char *o, unsigned n)
{
    ENTER(0, NO_DEVICE | BEFORE_INIT);
    return leave(copy_text(o, n, global_text("nvml_version")));
}

API nvmlSystemGetCudaDriverVersion(int *o)
{
    ENTER(0, NO_DEVICE | BEFORE_INIT);
    NEED(o);
    *o = atoi(global_text("cuda_version"));
    return leave(0);
}

API nvmlSystemGetCudaDriverVersion_v2(int *o)
{
    ENTER(0, NO_DEVICE | BEFORE_INIT);
    NEED(o);
    *o = atoi(global_text("cuda_version"));
    return leave(0);
}

API nvmlSystemGetProcessName(unsigned pid, char *o, unsigned n)
{
    ENTER(0, NO_DEVICE);
    NEED(o && n);
    char p[64];
    snprintf(p, sizeof p, "/proc/%u/cmdline", pid);
    FILE *f = fopen(p, "r");
    if (!f)
        return leave(NVML_ERROR_NOT_FOUND);
    size_t l = fread(o, 1, n - 1, f);
    fclose(f);
    o[l] = 0;
    return leave(l ? 0 : NVML_ERROR_NOT_FOUND);
}

API nvmlDeviceGetCount_v2(unsigned *o)
{
    ENTER(0, NO_DEVICE);
    NEED(o);
    update_count();
    *o = gpu_count;
    return leave(0);
}
ALIAS(nvmlDeviceGetCount, nvmlDeviceGetCount_v2, unsigned *);
