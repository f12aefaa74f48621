/* Event sets: an event of the scenario reaches every set that was there before it. */
#include "fakenvml.h"
#include <math.h>
#include <time.h>

struct nvmlEventSet_st {
    u64 mask[MAX_GPUS];
    u64 last;
};

static u64 newest_event(void)
{
    u64 m = 0;
    for (int i = 0; i < current->event_count; i++)
        if (current->events[i].id > m)
            m = current->events[i].id;
    return m;
}

API nvmlEventSetCreate(nvmlEventSet_t *o)
{
    ENTER(0, NO_DEVICE);
    NEED(o);
    *o = calloc(1, sizeof **o);
    if (!*o)
        return leave(NVML_ERROR_MEMORY);
    (*o)->last = newest_event();
    return leave(0);
}

API nvmlEventSetFree(nvmlEventSet_t s)
{
    ENTER(0, NO_DEVICE);
    NEED(s);
    free(s);
    return leave(0);
}

API nvmlDeviceRegisterEvents(nvmlDevice_t d, unsigned long long t, nvmlEventSet_t s)
{
    ENTER(d, 0);
    NEED(s);
    u64 sup = 0;
    if ((r = gpu_u64(c.gpu, "event_types", &sup)))
        return leave(r);
    if (t & ~sup)
        return leave(NVML_ERROR_NOT_SUPPORTED);
    s->mask[c.gpu] |= t;
    return leave(0);
}

static nvmlReturn_t wait_for_event(nvmlEventSet_t s, nvmlEventData_t *o, unsigned ms)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (;;) {
        refresh(0);
        pthread_rwlock_rdlock(&scenario_lock);
        struct event *e = NULL;
        for (int i = 0; i < current->event_count; i++) {
            struct event *x = &current->events[i];
            if (x->id > s->last && x->gpu < MAX_GPUS && (s->mask[x->gpu] & x->type) && (!e || x->id < e->id))
                e = x;
        }
        if (e) {
            s->last = e->id;
            *o = (nvmlEventData_t){&devices[e->gpu][0], e->type, e->data, e->gi, e->ci};
            return leave(0);
        }
        for (int g = 0; g < MAX_GPUS; g++)
            if (s->mask[g]) {
                unsigned l = 0;
                gpu_u32(g, "lost", &l);
                if (l)
                    return leave(NVML_ERROR_GPU_IS_LOST);
            }
        pthread_rwlock_unlock(&scenario_lock);
        clock_gettime(CLOCK_MONOTONIC, &b);
        double el = (b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) / 1e6;
        if (el >= ms)
            return NVML_ERROR_TIMEOUT;
        pause_us(fmin(2000, (ms - el) * 1e3 + 1));
    }
}

API nvmlEventSetWait_v2(nvmlEventSet_t s, nvmlEventData_t *o, unsigned ms)
{
    ENTER(0, NO_DEVICE);
    NEED(s && o);
    leave(0);
    return wait_for_event(s, o, ms);
}
ALIAS(nvmlEventSetWait, nvmlEventSetWait_v2, nvmlEventSet_t, nvmlEventData_t *, unsigned);
