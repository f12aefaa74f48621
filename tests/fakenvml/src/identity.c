/* A GPU's name, numbers and versions. */
#include "fakenvml.h"
#include <stdio.h>

API nvmlDeviceGetName(nvmlDevice_t d, char *o, unsigned n)
{
    ENTER(d, ON_MIG);
    char b[256];
    const char *s = gpu_text(c.gpu, "name");
    int e = return_code(s);
    if (e > 0)
        return leave(e);
    if (c.mig) {
        snprintf(b, sizeof b, "%s MIG %s", s, c.mig->name);
        s = b;
    }
    return leave(copy_text(o, n, s));
}

API nvmlDeviceGetUUID(nvmlDevice_t d, char *o, unsigned n)
{
    ENTER(d, ON_MIG);
    char b[96];
    if (c.mig)
        return leave(copy_text(o, n, c.mig->uuid));
    gpu_uuid(c.gpu, b, sizeof b);
    int e = return_code(b);
    return leave(e > 0 ? (nvmlReturn_t)e : copy_text(o, n, b));
}

API nvmlDeviceGetSerial(nvmlDevice_t d, char *o, unsigned n)
{
    ENTER(d, 0);
    char b[64];
    gpu_serial(c.gpu, b, sizeof b);
    int e = return_code(b);
    return leave(e > 0 ? (nvmlReturn_t)e : copy_text(o, n, b));
}

#define STRF(fn, key)                               \
    API fn(nvmlDevice_t d, char *o, unsigned n)     \
    {                                               \
        ENTER(d, 0);                                \
        return leave(gpu_string(c.gpu, key, o, n)); \
    }
STRF(nvmlDeviceGetVbiosVersion, "vbios")
STRF(nvmlDeviceGetBoardPartNumber, "board_part")
STRF(nvmlDeviceGetInforomImageVersion, "inforom")

API nvmlDeviceGetGspFirmwareVersion(nvmlDevice_t d, char *o)
{
    ENTER(d, 0);
    return leave(gpu_string(c.gpu, "gsp_version", o, 64));
}

API nvmlDeviceGetIndex(nvmlDevice_t d, unsigned *o)
{
    ENTER(d, ON_MIG);
    NEED(o);
    if (c.mig) {
        *o = c.mig->slot;
        return leave(0);
    }
    return leave(gpu_u32(c.gpu, "index", o));
}

API nvmlDeviceGetPciInfo_v3(nvmlDevice_t d, nvmlPciInfo_t *o)
{
    ENTER(d, 0);
    NEED(o);
    memset(o, 0, sizeof *o);
    unsigned f;
    int e = return_code(gpu_text(c.gpu, "pci_bus_id"));
    if (e > 0)
        return leave(e);
    gpu_bus(c.gpu, &o->domain, &o->bus, &o->device, &f);
    gpu_u32(c.gpu, "pci_device_id", &o->pciDeviceId);
    gpu_u32(c.gpu, "pci_subsystem_id", &o->pciSubSystemId);
    snprintf(o->busId, sizeof o->busId, "%08X:%02X:%02X.%u", o->domain, o->bus, o->device, f & 7);
    snprintf(o->busIdLegacy, sizeof o->busIdLegacy, "%04X:%02X:%02X.%u", o->domain & 0xffff, o->bus & 0xff,
             o->device & 0x1f, f & 7);
    return leave(0);
}
ALIAS(nvmlDeviceGetPciInfo, nvmlDeviceGetPciInfo_v3, nvmlDevice_t, nvmlPciInfo_t *);

API nvmlDeviceGetCudaComputeCapability(nvmlDevice_t d, int *a, int *b)
{
    ENTER(d, 0);
    NEED(a && b);
    const char *s = gpu_text(c.gpu, "cc");
    int e = return_code(s);
    if (e > 0)
        return leave(e);
    return leave(sscanf(s, "%d.%d", a, b) == 2 ? 0 : NVML_ERROR_UNKNOWN);
}
