/* MIG devices. */
#include "fakenvml.h"

API nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t d, unsigned i, nvmlDevice_t *o)
{
    ENTER(d, 0);
    NEED(o);
    unsigned m = 0, mx = 0;
    if ((r = gpu_u32(c.gpu, "mig_mode", &m)))
        return leave(r);
    gpu_u32(c.gpu, "mig_max", &mx);
    NEED(i < mx);
    if (!m || i >= MAX_MIG || !mig_in_slot(c.gpu, i))
        return leave(NVML_ERROR_NOT_FOUND);
    *o = &devices[c.gpu][1 + i];
    return leave(0);
}

API nvmlDeviceIsMigDeviceHandle(nvmlDevice_t d, unsigned *o)
{
    ENTER(d, ON_MIG);
    NEED(o);
    *o = c.slot >= 0;
    return leave(0);
}

API nvmlDeviceGetGpuInstanceId(nvmlDevice_t d, unsigned *o)
{
    ENTER(d, ON_MIG);
    NEED(o && c.mig);
    *o = c.mig->gi;
    return leave(0);
}

API nvmlDeviceGetComputeInstanceId(nvmlDevice_t d, unsigned *o)
{
    ENTER(d, ON_MIG);
    NEED(o && c.mig);
    *o = c.mig->ci;
    return leave(0);
}

API nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t d, nvmlDevice_t *o)
{
    ENTER(d, ON_MIG);
    NEED(o && c.mig);
    *o = &devices[c.gpu][0];
    return leave(0);
}

API nvmlDeviceGetAttributes_v2(nvmlDevice_t d, nvmlDeviceAttributes_t *o)
{
    ENTER(d, ON_MIG);
    NEED(o);
    if (!c.mig)
        return leave(NVML_ERROR_NOT_SUPPORTED);
    memset(o, 0, sizeof *o);
    o->multiprocessorCount = c.mig->sms;
    o->sharedCopyEngineCount = c.mig->gslice;
    o->sharedDecoderCount = c.mig->gslice;
    o->gpuInstanceSliceCount = c.mig->gslice;
    o->computeInstanceSliceCount = c.mig->cslice;
    o->memorySizeMB = c.mig->total >> 20;
    return leave(0);
}
