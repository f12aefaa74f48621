/* GPM: metrics between two samples. Without a value of their own they follow util_gpu and its like. */
#include "fakenvml.h"
#include <stdio.h>

struct nvmlGpmSample_st {
    int g;
    unsigned gi;
    double t;
    int set;
};

static const struct {
    unsigned id;
    const char *s, *l, *u, *dflt;
    double k;
} GPM[] = {
    {1,  "GRACT",   "graphics_util",           "%",     "util_gpu",     1        },
    {2,  "SMACT",   "sm_util",                 "%",     "util_gpu",     .92      },
    {3,  "SMOCC",   "sm_occupancy",            "%",     "util_gpu",     .45      },
    {4,  "INTUTIL", "integer_util",            "%",     "util_gpu",     .2       },
    {5,  "TENSO",   "any_tensor_util",         "%",     "util_gpu",     .5       },
    {7,  "HMMA",    "hmma_tensor_util",        "%",     "util_gpu",     .5       },
    {10, "DRAMA",   "dram_bw_util",            "%",     "util_mem",     1        },
    {11, "FP64A",   "fp64_util",               "%",     0,              0        },
    {12, "FP32A",   "fp32_util",               "%",     "util_gpu",     .1       },
    {13, "FP16A",   "fp16_util",               "%",     "util_gpu",     .05      },
    {20, "PCITX",   "pcie_tx_per_sec",         "MiB/s", "pcie_tx_kbps", 1 / 1024.},
    {21, "PCIRX",   "pcie_rx_per_sec",         "MiB/s", "pcie_rx_kbps", 1 / 1024.},
    {60, "NVLRX",   "nvlink_total_rx_per_sec", "MiB/s", 0,              0        },
    {61, "NVLTX",   "nvlink_total_tx_per_sec", "MiB/s", 0,              0        }
};
API nvmlGpmQueryDeviceSupport(nvmlDevice_t d, nvmlGpmSupport_t *o)
{
    ENTER(d, ON_MIG);
    NEED(o);
    if (o->version != NVML_GPM_SUPPORT_VERSION)
        return leave(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    return leave(gpu_u32(c.gpu, "gpm_supported", &o->isSupportedDevice));
}

API nvmlGpmSampleAlloc(nvmlGpmSample_t *o)
{
    ENTER(0, NO_DEVICE);
    NEED(o);
    *o = calloc(1, sizeof **o);
    return leave(*o ? 0 : NVML_ERROR_MEMORY);
}

API nvmlGpmSampleFree(nvmlGpmSample_t s)
{
    ENTER(0, NO_DEVICE | BEFORE_INIT);
    NEED(s);
    free(s);
    return leave(0);
}

static nvmlReturn_t gpm_take(struct call *c, nvmlGpmSample_t s, unsigned gi)
{
    unsigned k = 0;
    gpu_u32(c->gpu, "gpm_supported", &k);
    if (!k)
        return NVML_ERROR_NOT_SUPPORTED;
    s->g = c->gpu;
    s->gi = gi;
    s->t = now_s();
    s->set = 1;
    return 0;
}

API nvmlGpmSampleGet(nvmlDevice_t d, nvmlGpmSample_t s)
{
    ENTER(d, ON_MIG);
    NEED(s);
    return leave(gpm_take(&c, s, c.mig ? c.mig->gi : NO_INSTANCE));
}

API nvmlGpmMigSampleGet(nvmlDevice_t d, unsigned gi, nvmlGpmSample_t s)
{
    ENTER(d, 0);
    NEED(s);
    int ok = 0;
    for (int i = 0; i < current->mig_count; i++)
        if (current->migs[i].gpu == c.gpu && current->migs[i].gi == gi)
            ok = 1;
    if (!ok)
        return leave(NVML_ERROR_NOT_FOUND);
    return leave(gpm_take(&c, s, gi));
}

API nvmlGpmQueryIfStreamingEnabled(nvmlDevice_t d, unsigned *o)
{
    ENTER(d, 0);
    NEED(o);
    *o = 0;
    return leave(0);
}

static nvmlReturn_t gpm_value(int g, unsigned gi, unsigned id, double t, int gpm, double *d)
{
    char k[64];
    const char *s = NULL;
    u64 u;
    if (gi != NO_INSTANCE) {
        snprintf(k, sizeof k, "gpm.%u.gi%u", id, gi);
        s = gpu_text(g, k);
    }
    if (!s) {
        snprintf(k, sizeof k, "gpm.%u", id);
        s = gpu_text(g, k);
    }
    if (s)
        return evaluate(s, text_hash(k) * 31 + g, t, d, &u);
    if (gpm < 0)
        return NVML_ERROR_NOT_SUPPORTED;
    *d = 0;
    if (!GPM[gpm].dflt)
        return 0;
    nvmlReturn_t r = gpu_number(g, GPM[gpm].dflt, t, d, &u);
    *d *= GPM[gpm].k;
    return r;
}

API nvmlGpmMetricsGet(nvmlGpmMetricsGet_t *o)
{
    ENTER(0, NO_DEVICE);
    NEED(o);
    if (o->version != NVML_GPM_METRICS_GET_VERSION)
        return leave(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    NEED(o->sample1 && o->sample2 && o->sample1->set && o->sample2->set && o->sample1->g == o->sample2->g &&
         o->sample2->t >= o->sample1->t);
    unsigned mn = 0, lost = 0;
    int g = o->sample1->g;
    gpu_u32(g, "gpm_min_interval_ms", &mn);
    gpu_u32(g, "lost", &lost);
    if (lost)
        return leave(NVML_ERROR_GPU_IS_LOST);
    if ((o->sample2->t - o->sample1->t) * 1000 < mn)
        return leave(NVML_ERROR_INVALID_ARGUMENT);
    double t = (o->sample1->t + o->sample2->t) / 2;
    /* No more than numMetrics entries are written: the array's length differs between versions of the header. */
    for (unsigned i = 0; i < o->numMetrics; i++) {
        nvmlGpmMetric_t *m = &o->metrics[i];
        int k = -1;
        for (unsigned j = 0; j < sizeof GPM / sizeof *GPM; j++)
            if (GPM[j].id == m->metricId)
                k = j;
        m->value = 0;
        m->nvmlReturn = gpm_value(g, o->sample1->gi, m->metricId, t, k, &m->value);
        m->metricInfo.shortName = k < 0 ? NULL : (char *)GPM[k].s;
        m->metricInfo.longName = k < 0 ? NULL : (char *)GPM[k].l;
        m->metricInfo.unit = k < 0 ? NULL : (char *)GPM[k].u;
    }
    return leave(0);
}
