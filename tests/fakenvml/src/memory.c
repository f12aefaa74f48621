/* Memory of a GPU and of a MIG device. Version 1 counts the reserved part as used; version 2 does not. */
#include "fakenvml.h"

static nvmlReturn_t memory_of(struct call *c, u64 *total, u64 *res, u64 *used)
{
    nvmlReturn_t r;
    if (c->mig) {
        *total = c->mig->total;
        *res = 0;
        *used = c->mig->used;
        if (*used == NOT_GIVEN) {
            *used = 0;
            for (int i = 0; i < current->process_count; i++)
                if (current->processes[i].gpu == c->gpu && current->processes[i].gi == c->mig->gi &&
                    current->processes[i].ci == c->mig->ci && current->processes[i].mem != NOT_GIVEN)
                    *used += current->processes[i].mem;
        }
        return 0;
    }
    if ((r = gpu_u64(c->gpu, "mem_total", total)) || (r = gpu_u64(c->gpu, "mem_reserved", res)) ||
        (r = gpu_u64(c->gpu, "mem_used", used)))
        return r;
    if (*used + *res > *total)
        *used = *total - *res;
    return 0;
}

API nvmlDeviceGetMemoryInfo(nvmlDevice_t d, nvmlMemory_t *o)
{
    ENTER(d, ON_MIG);
    NEED(o);
    u64 t, s, u;
    if ((r = memory_of(&c, &t, &s, &u)))
        return leave(r);
    o->total = t;
    o->used = u + s;
    o->free = t - u - s;
    return leave(0);
}

API nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t d, nvmlMemory_v2_t *o)
{
    ENTER(d, ON_MIG);
    NEED(o);
    if (o->version != nvmlMemory_v2)
        return leave(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    u64 t, s, u;
    if ((r = memory_of(&c, &t, &s, &u)))
        return leave(r);
    o->total = t;
    o->reserved = s;
    o->used = u;
    o->free = t - u - s;
    return leave(0);
}

API nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t d, nvmlBAR1Memory_t *o)
{
    ENTER(d, ON_MIG);
    NEED(o);
    u64 t, u;
    if ((r = gpu_u64(c.gpu, "bar1_total", &t)) || (r = gpu_u64(c.gpu, "bar1_used", &u)))
        return leave(r);
    o->bar1Total = t;
    o->bar1Used = u;
    o->bar1Free = t - u;
    return leave(0);
}
