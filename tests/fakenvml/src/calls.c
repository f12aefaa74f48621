/* What happens at the start and the end of every call: counting, latency, made-up errors, lost GPUs. */
#include "fakenvml.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

struct nvmlDevice_st devices[MAX_GPUS][MAX_MIG + 1];
atomic_int init_count;
int gpu_count;
static pthread_mutex_t driver_mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct counter *) counters;

/* gpu.N.pre.fn, gpu.*.pre.fn, pre.fn; then the same without _v2 or _v3; then with '*', or bare. */
const char *override_for(int g, const char *pre, const char *fn)
{
    char k[128];
    const char *v;
    size_t l = strlen(fn);
    int ver = l > 3 && fn[l - 3] == '_' && fn[l - 2] == 'v' && isdigit((unsigned char)fn[l - 1]);
    for (int i = 0; i < 3; i++) {
        if (i == 0)
            snprintf(k, sizeof k, "%s.%s", pre, fn);
        else if (i == 1 && !ver)
            continue;
        else if (i == 1)
            snprintf(k, sizeof k, "%s.%.*s", pre, (int)l - 3, fn);
        else if (!strcmp(pre, "return"))
            strcpy(k, "return.*");
        else
            snprintf(k, sizeof k, "%s", pre);
        if ((g >= 0 && ((v = table_get(&current->gpu[g], k)) || (v = table_get(&current->every_gpu, k)))) ||
            (v = table_get(&current->global, k)))
            return v;
    }
    return NULL;
}

void pause_us(double us)
{
    if (us <= 0)
        return;
    struct timespec a;
    if (us < 60) {
        double e;
        clock_gettime(CLOCK_MONOTONIC, &a);
        do {
            struct timespec b;
            clock_gettime(CLOCK_MONOTONIC, &b);
            e = (b.tv_sec - a.tv_sec) * 1e6 + (b.tv_nsec - a.tv_nsec) / 1e3;
        } while (e < us);
        return;
    }
    a.tv_sec = us / 1e6;
    a.tv_nsec = fmod(us, 1e6) * 1e3;
    while (nanosleep(&a, &a))
        ;
}

void latency(int g, const char *fn, unsigned nfields)
{
    double done = 0;
    for (;;) { /* long waits run in 10 ms slices, so that a hang ends when the scenario drops it */
        pthread_rwlock_rdlock(&scenario_lock);
        const char *v = override_for(g, "latency_us", fn);
        double us = v ? strtod(v, 0) : 0;
        int ser = atoi(global_text("latency_serialize"));
        if (nfields) {
            v = g >= 0 ? gpu_text(g, "latency_us_per_field") : NULL;
            if (v)
                us += nfields * strtod(v, 0);
        }
        pthread_rwlock_unlock(&scenario_lock);
        if (us <= done)
            return;
        double s = us - done > 10000 ? 10000 : us - done;
        if (ser)
            pthread_mutex_lock(&driver_mutex);
        pause_us(s);
        if (ser)
            pthread_mutex_unlock(&driver_mutex);
        done += s;
        if (us > done)
            refresh(0);
    }
}

static void count(struct counter *f)
{
    if (!atomic_flag_test_and_set(&f->linked)) {
        f->next = counters;
        while (!atomic_compare_exchange_weak(&counters, &f->next, f))
            ;
    }
    f->n++;
}

/* Whether the handle is one of ours; a MIG device's has a slot. */
static int find_device(struct call *c, nvmlDevice_t d)
{
    char *p = (char *)d, *first = (char *)devices;
    size_t offset = p - first;
    if (!d || p < first || offset >= sizeof devices || offset % sizeof devices[0][0])
        return 0;
    c->gpu = d->gpu;
    c->slot = d->slot;
    return 1;
}

/* What the scenario makes this call return: NAME, or NAME/3 for every third call. */
static nvmlReturn_t wanted_return(const char *o, unsigned long nth)
{
    if (!o)
        return NVML_SUCCESS;
    if (!strncmp(o, "CRASH", 5))
        abort();
    int r = return_code(o);
    if (r < 0) {
        warn("bad return name %s", o);
        r = NVML_ERROR_UNKNOWN;
    }
    const char *every = strchr(strncmp(o, "N/A", 3) ? o : o + 3, '/');
    return !every || nth % strtoul(every + 1, 0, 10) == 0 ? (nvmlReturn_t)r : NVML_SUCCESS;
}

static nvmlReturn_t check_device(struct call *c, int flags, int answers_when_lost)
{
    unsigned lost = 0, mode = 0, answers = 0;
    gpu_u32(c->gpu, "lost", &lost);
    if (lost && !answers_when_lost)
        return NVML_ERROR_GPU_IS_LOST;
    if (c->gpu >= gpu_count)
        return NVML_ERROR_INVALID_ARGUMENT;
    gpu_u32(c->gpu, "mig_mode", &mode);
    if (c->slot >= 0) {
        if (!mode || !(c->mig = mig_in_slot(c->gpu, c->slot)))
            return NVML_ERROR_NOT_FOUND;
        if (!(flags & ON_MIG)) {
            int r = return_code(gpu_text(c->gpu, "mig_handle_return"));
            return r > 0 ? r : NVML_ERROR_NOT_SUPPORTED;
        }
    }
    gpu_u32(c->gpu, "mig_utilization", &answers);
    return (flags & NOT_IN_MIG_MODE) && mode && !answers ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
}

nvmlReturn_t enter(struct call *c, struct counter *f, nvmlDevice_t d, int flags, unsigned fields)
{
    count(f);
    refresh(0);
    *c = (struct call){-1, -1, NULL};
    int bad = !(flags & NO_DEVICE) && !find_device(c, d);
    if (init_count > 0 && !bad)
        latency(c->gpu, f->name, fields);
    pthread_rwlock_rdlock(&scenario_lock);
    if (init_count <= 0 && !(flags & BEFORE_INIT))
        return NVML_ERROR_UNINITIALIZED;
    if (bad)
        return NVML_ERROR_INVALID_ARGUMENT;
    const char *o = override_for(c->gpu, "return", f->name);
    nvmlReturn_t r = wanted_return(o, f->n);
    if (r || c->gpu < 0)
        return r;
    return check_device(c, flags, o && !return_code(o)); /* return.X = SUCCESS answers even when lost */
}

nvmlReturn_t leave(nvmlReturn_t r)
{
    pthread_rwlock_unlock(&scenario_lock);
    return r;
}

unsigned long fakenvml_calls(const char *fn)
{
    unsigned long n = 0;
    for (struct counter *f = counters; f; f = f->next)
        if (!fn || !strcmp(fn, f->name))
            n += f->n;
    return n;
}

void fakenvml_reset_calls(void)
{
    for (struct counter *f = counters; f; f = f->next)
        f->n = 0;
}

int fakenvml_dump_calls(char *o, unsigned n)
{
    int l = 0;
    for (struct counter *f = counters; f; f = f->next)
        if (f->n && (unsigned)l < n)
            l += snprintf(o + l, n - l, "%s %lu\n", f->name, (unsigned long)f->n);
    return l;
}

/* Every function of nvml.h that is not modelled lands here; a race for the slot costs one counter. */
int fakenvml_stub(const char *name, void **slot)
{
    struct counter *f = *slot;
    if (!f) {
        f = calloc(1, sizeof *f);
        f->name = name;
        *slot = f;
    }
    struct call c;
    nvmlReturn_t r = enter(&c, f, 0, NO_DEVICE, 0);
    return leave(r ? r : NVML_ERROR_NOT_SUPPORTED);
}
