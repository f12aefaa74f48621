/* What a key is worth now: the scenario, then the defaults of the model, then those of all models. */
#include "fakenvml.h"
#include <math.h>
#include <stdio.h>
#include <time.h>

const char *global_text(const char *k)
{
    const char *v = table_get(&current->global, k);
    return v ? v : table_get(&global_defaults, k);
}

static int model_index(int g)
{
    const char *m = table_get(&current->gpu[g], "model");
    if (!m)
        m = table_get(&current->every_gpu, "model");
    if (!m)
        return 0;
    for (unsigned i = 0; i < MODEL_COUNT; i++)
        if (!strcmp(MODELS[i].name, m))
            return i;
    return 0;
}

const char *gpu_text(int g, const char *k)
{
    const char *v;
    if ((v = table_get(&current->gpu[g], k)) || (v = table_get(&current->every_gpu, k)) ||
        (v = table_get(&model_defaults[model_index(g)], k)))
        return v;
    return table_get(&base_defaults, k);
}

double now_s(void)
{
    const char *c = current ? global_text("clock_s") : NULL;
    if (c && *c)
        return strtod(c, 0);
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

double origin_s(void)
{
    const char *c = global_text("t0");
    return c && *c ? strtod(c, 0) : load_time_s;
}

/* The same for the same key, GPU and tenth of a second, whoever asks. */
static double noise(unsigned salt, double t)
{
    unsigned h = salt ^ (unsigned)(u64)(t * 10);
    h ^= h >> 16;
    h *= 0x7feb352d;
    h ^= h >> 15;
    h *= 0x846ca68b;
    h ^= h >> 16;
    return h / 2147483648.0 - 1;
}

/* Evaluates a value at time t: number[unit], a return name, or fn(a,b,c). */
nvmlReturn_t evaluate(const char *s, unsigned salt, double t, double *d, u64 *u)
{
    int r = return_code(s);
    if (r > 0)
        return r;
    const char *p = strchr(s, '(');
    double v;
    if (!p) {
        *u = s[0] == '-' ? (u64)strtoll(s, 0, 0) : parse_size(s);
        *d = strchr(s, '.') || s[0] == '-' ? strtod(s, 0) : (double)*u;
        return 0;
    }
    double a = 0, b = 0, c = 0;
    sscanf(p + 1, "%lf , %lf , %lf", &a, &b, &c);
    if (c <= 0)
        c = 60;
    double ph = fmod(t, c) / c;
    if (!strncmp(s, "sine(", 5))
        v = a + b * sin(2 * M_PI * ph);
    else if (!strncmp(s, "square(", 7))
        v = ph < .5 ? a : b;
    else if (!strncmp(s, "saw(", 4))
        v = a + (b - a) * ph;
    else if (!strncmp(s, "rate(", 5))
        v = a + b * (t - origin_s());
    else if (!strncmp(s, "noise(", 6))
        v = a + b * noise(salt, t);
    else {
        warn("bad value %s", s);
        return NVML_ERROR_UNKNOWN;
    }
    if (v < 0)
        v = 0;
    *d = v;
    *u = (u64)(v + .5);
    return 0;
}

static pthread_mutex_t energy_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
    double total_mj, time_s, power_mw;
    int begun;
} energy[MAX_GPUS];

/* The integral of power_usage_mw over time, from the first call on. */
static nvmlReturn_t integrate_energy(int g, double t, u64 *u)
{
    double p, e0;
    u64 x;
    nvmlReturn_t r;
    if ((r = gpu_number(g, "power_usage_mw", t, &p, &x)) || (r = gpu_number(g, "energy_start_mj", t, &e0, &x)))
        return r;
    pthread_mutex_lock(&energy_mutex);
    if (energy[g].begun && t > energy[g].time_s)
        energy[g].total_mj += (p + energy[g].power_mw) / 2 * (t - energy[g].time_s);
    energy[g].begun = 1;
    energy[g].time_s = t;
    energy[g].power_mw = p;
    *u = (u64)(e0 + energy[g].total_mj);
    pthread_mutex_unlock(&energy_mutex);
    return NVML_SUCCESS;
}

static u64 processes_memory(int g)
{
    u64 sum = 0;
    for (int i = 0; i < current->process_count; i++)
        if (current->processes[i].gpu == g && current->processes[i].mem != NOT_GIVEN)
            sum += current->processes[i].mem;
    return sum;
}

/* The value "auto": from the GPU's index, from another key, or from what its processes do. */
static nvmlReturn_t automatic(int g, const char *k, double t, double *d, u64 *u)
{
    static const struct {
        const char *key, *same_as;
    } SAME[] = {
        {"power_instant_mw",        "power_usage_mw"},
        {"enforced_power_limit_mw", "power_limit_mw"},
        {"ecc_pending",             "ecc_mode"      },
        {"mig_pending",             "mig_mode"      },
    };
    nvmlReturn_t r = NVML_SUCCESS;
    for (unsigned i = 0; i < sizeof SAME / sizeof *SAME; i++)
        if (!strcmp(k, SAME[i].key))
            return gpu_number(g, SAME[i].same_as, t, d, u);
    if (!strcmp(k, "minor") || !strcmp(k, "index"))
        *u = g;
    else if (!strcmp(k, "board_id"))
        *u = (g + 1) << 8;
    else if (!strcmp(k, "numa_node"))
        *u = g / 4;
    else if (!strcmp(k, "mem_used"))
        *u = processes_memory(g);
    else if (!strcmp(k, "energy_mj"))
        r = integrate_energy(g, t, u);
    else
        return NVML_ERROR_UNKNOWN;
    *d = (double)*u;
    return r;
}

nvmlReturn_t gpu_number(int g, const char *k, double t, double *d, u64 *u)
{
    const char *s = gpu_text(g, k);
    if (!s || !*s)
        return NVML_ERROR_NOT_SUPPORTED;
    if (!strcmp(s, "auto"))
        return automatic(g, k, t, d, u);
    return evaluate(s, text_hash(k) * 31 + g, t, d, u);
}

nvmlReturn_t gpu_u64(int g, const char *k, u64 *o)
{
    double d;
    return gpu_number(g, k, now_s(), &d, o);
}

nvmlReturn_t gpu_u32(int g, const char *k, unsigned *o)
{
    u64 u;
    nvmlReturn_t r = gpu_u64(g, k, &u);
    if (!r)
        *o = (unsigned)u;
    return r;
}

nvmlReturn_t copy_text(char *o, unsigned n, const char *s)
{
    if (!o)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (strlen(s) + 1 > n)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    strcpy(o, s);
    return 0;
}

nvmlReturn_t gpu_string(int g, const char *k, char *o, unsigned n)
{
    const char *s = gpu_text(g, k);
    int r;
    if (!s)
        return NVML_ERROR_NOT_SUPPORTED;
    if ((r = return_code(s)) > 0)
        return r;
    return copy_text(o, n, s);
}

struct mig_device *mig_in_slot(int g, int slot)
{
    for (int i = 0; i < current->mig_count; i++)
        if (current->migs[i].gpu == g && current->migs[i].slot == slot)
            return &current->migs[i];
    return NULL;
}
