/* ECC errors, remapped rows and retired pages. */
#include "fakenvml.h"
#include <stdio.h>

static const char *ECC[2][2] = {
    {"ecc_sbe_vol", "ecc_sbe_agg"},
    {"ecc_dbe_vol", "ecc_dbe_agg"}
};
static nvmlReturn_t ecc_error(int g)
{
    unsigned m = 0;
    nvmlReturn_t r = gpu_u32(g, "ecc_mode", &m);
    return r ? r : m ? 0 : NVML_ERROR_NOT_SUPPORTED;
}

API nvmlDeviceGetTotalEccErrors(nvmlDevice_t d, nvmlMemoryErrorType_t t, nvmlEccCounterType_t k, unsigned long long *o)
{
    ENTER(d, ON_MIG);
    NEED(o && (unsigned)t < 2 && (unsigned)k < 2);
    if ((r = ecc_error(c.gpu)))
        return leave(r);
    u64 u;
    r = gpu_u64(c.gpu, ECC[t][k], &u);
    if (!r)
        *o = u;
    return leave(r);
}

API nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t d, nvmlMemoryErrorType_t t, nvmlEccCounterType_t k,
                                    nvmlMemoryLocation_t l, unsigned long long *o)
{
    ENTER(d, ON_MIG);
    NEED(o && (unsigned)t < 2 && (unsigned)k < 2);
    if ((r = ecc_error(c.gpu)))
        return leave(r);
    u64 u = 0;
    if (l == NVML_MEMORY_LOCATION_DEVICE_MEMORY)
        r = gpu_u64(c.gpu, ECC[t][k], &u);
    if (!r)
        *o = u;
    return leave(r);
}

API nvmlDeviceGetDetailedEccErrors(nvmlDevice_t d, nvmlMemoryErrorType_t t, nvmlEccCounterType_t k,
                                   nvmlEccErrorCounts_t *o)
{
    ENTER(d, 0);
    NEED(o && (unsigned)t < 2 && (unsigned)k < 2);
    if ((r = ecc_error(c.gpu)))
        return leave(r);
    memset(o, 0, sizeof *o);
    u64 u;
    r = gpu_u64(c.gpu, ECC[t][k], &u);
    if (!r)
        o->deviceMemory = u;
    return leave(r);
}

API nvmlDeviceGetRemappedRows(nvmlDevice_t d, unsigned *a, unsigned *b, unsigned *p, unsigned *f)
{
    ENTER(d, 0);
    NEED(a && b && p && f);
    if ((r = gpu_u32(c.gpu, "remapped_corr", a)) || (r = gpu_u32(c.gpu, "remapped_unc", b)) ||
        (r = gpu_u32(c.gpu, "remapped_pending", p)))
        return leave(r);
    return leave(gpu_u32(c.gpu, "remapped_failure", f));
}

API nvmlDeviceGetRowRemapperHistogram(nvmlDevice_t d, nvmlRowRemapperHistogramValues_t *o)
{
    ENTER(d, 0);
    NEED(o);
    const char *s = gpu_text(c.gpu, "remap_hist");
    int e = return_code(s);
    if (e > 0)
        return leave(e);
    memset(o, 0, sizeof *o);
    sscanf(s, "%u,%u,%u,%u,%u", &o->max, &o->high, &o->partial, &o->low, &o->none);
    return leave(0);
}

static nvmlReturn_t list_pages(int g, unsigned cause, unsigned *n, unsigned long long *a, unsigned long long *ts)
{
    const char *s = gpu_text(g, cause ? "retired_dbe" : "retired_sbe");
    int e = return_code(s);
    if (e > 0)
        return e;
    unsigned k = 0, cap = a ? *n : 0;
    for (const char *p = s; *p;) {
        char *q;
        u64 v = strtoull(p, &q, 0);
        if (q == p)
            break;
        if (k < cap) {
            a[k] = v;
            if (ts)
                ts[k] = (u64)(origin_s() * 1e6);
        }
        k++;
        p = q;
        while (*p == ',' || *p == ' ')
            p++;
    }
    *n = k;
    return k > cap ? NVML_ERROR_INSUFFICIENT_SIZE : 0;
}

API nvmlDeviceGetRetiredPages(nvmlDevice_t d, nvmlPageRetirementCause_t t, unsigned *n, unsigned long long *a)
{
    ENTER(d, 0);
    NEED(n && (unsigned)t < 2);
    return leave(list_pages(c.gpu, t, n, a, NULL));
}

API nvmlDeviceGetRetiredPages_v2(nvmlDevice_t d, nvmlPageRetirementCause_t t, unsigned *n, unsigned long long *a,
                                 unsigned long long *ts)
{
    ENTER(d, 0);
    NEED(n && (unsigned)t < 2);
    return leave(list_pages(c.gpu, t, n, a, ts));
}
