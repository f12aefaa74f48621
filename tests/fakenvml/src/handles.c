/* Finding a GPU by index, UUID, serial number or PCI address. */
#include "fakenvml.h"
#include <stdio.h>

void gpu_uuid(int g, char *o, unsigned n)
{
    const char *s = gpu_text(g, "uuid");
    if (!strcmp(s, "auto"))
        snprintf(o, n, "GPU-%08x-fa4e-4000-8000-%012x", g + 1, g + 1);
    else
        snprintf(o, n, "%s", s);
}

void gpu_serial(int g, char *o, unsigned n)
{
    const char *s = gpu_text(g, "serial");
    if (!strcmp(s, "auto"))
        snprintf(o, n, "16540%08d", g + 1);
    else
        snprintf(o, n, "%s", s);
}

void gpu_bus(int g, unsigned *dom, unsigned *bus, unsigned *dev, unsigned *fun)
{
    const char *s = gpu_text(g, "pci_bus_id");
    *dom = *fun = *dev = 0;
    *bus = 0;
    if (!strcmp(s, "auto")) {
        *bus = 0x10 + 0x10 * (g % 15) + g / 15;
        return;
    }
    if (sscanf(s, "%x:%x:%x.%x", dom, bus, dev, fun) < 3) {
        *dom = 0;
        sscanf(s, "%x:%x.%x", bus, dev, fun);
    }
}

static nvmlReturn_t handle_error(int g) /* gpu.N.return.nvmlDeviceGetHandle covers every look-up of that GPU's handle */
{
    const char *o = table_get(&current->gpu[g], "return.nvmlDeviceGetHandle");
    if (o && return_code(o) >= 0)
        return return_code(o);
    unsigned lost = 0;
    gpu_u32(g, "lost", &lost);
    return lost ? NVML_ERROR_GPU_IS_LOST : 0;
}

API nvmlDeviceGetHandleByIndex_v2(unsigned i, nvmlDevice_t *o)
{
    ENTER(0, NO_DEVICE);
    NEED(o);
    update_count();
    NEED((int)i < gpu_count);
    if ((r = handle_error(i)))
        return leave(r);
    *o = &devices[i][0];
    return leave(0);
}
ALIAS(nvmlDeviceGetHandleByIndex, nvmlDeviceGetHandleByIndex_v2, unsigned, nvmlDevice_t *);

API nvmlDeviceGetHandleByUUID(const char *u, nvmlDevice_t *o)
{
    ENTER(0, NO_DEVICE);
    NEED(u && o);
    char b[96];
    for (int g = 0; g < gpu_count; g++) {
        gpu_uuid(g, b, sizeof b);
        if (!strcmp(b, u)) {
            if ((r = handle_error(g)))
                return leave(r);
            *o = &devices[g][0];
            return leave(0);
        }
    }
    for (int i = 0; i < current->mig_count; i++)
        if (!strcmp(current->migs[i].uuid, u) && current->migs[i].gpu < gpu_count) {
            unsigned m = 0;
            gpu_u32(current->migs[i].gpu, "mig_mode", &m);
            if (!m)
                break;
            *o = &devices[current->migs[i].gpu][1 + current->migs[i].slot];
            return leave(0);
        }
    return leave(NVML_ERROR_NOT_FOUND);
}

API nvmlDeviceGetHandleBySerial(const char *u, nvmlDevice_t *o)
{
    ENTER(0, NO_DEVICE);
    NEED(u && o);
    char b[64];
    for (int g = 0; g < gpu_count; g++) {
        gpu_serial(g, b, sizeof b);
        if (!strcmp(b, u)) {
            *o = &devices[g][0];
            return leave(0);
        }
    }
    return leave(NVML_ERROR_NOT_FOUND);
}

API nvmlDeviceGetHandleByPciBusId_v2(const char *s, nvmlDevice_t *o)
{
    ENTER(0, NO_DEVICE);
    NEED(s && o);
    unsigned D = 0, B, d, f = 0, D2, B2, d2, f2;
    if (sscanf(s, "%x:%x:%x.%x", &D, &B, &d, &f) < 3) {
        D = 0;
        if (sscanf(s, "%x:%x.%x", &B, &d, &f) < 2)
            return leave(NVML_ERROR_INVALID_ARGUMENT);
    }
    for (int g = 0; g < gpu_count; g++) {
        gpu_bus(g, &D2, &B2, &d2, &f2);
        if (D == D2 && B == B2 && d == d2) {
            if ((r = handle_error(g)))
                return leave(r);
            *o = &devices[g][0];
            return leave(0);
        }
    }
    return leave(NVML_ERROR_NOT_FOUND);
}
ALIAS(nvmlDeviceGetHandleByPciBusId, nvmlDeviceGetHandleByPciBusId_v2, const char *, nvmlDevice_t *);
