/* NVLink, by its own calls and by the fields of nvmlDeviceGetFieldValues that name a link. */
#include "fakenvml.h"
#include <stdio.h>

/* nvlink.<link>.<what>, else nvlink_<what>; link -1: the latter. */
nvmlReturn_t link_value(int g, int link, const char *what, u64 *u)
{
    char k[96];
    unsigned n = 0;
    gpu_u32(g, "nvlink_count", &n);
    if (!n)
        return NVML_ERROR_NOT_SUPPORTED;
    if (link >= (int)n)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (link >= 0) {
        snprintf(k, sizeof k, "nvlink.%d.%s", link, what);
        if (gpu_text(g, k))
            return gpu_u64(g, k, u);
    }
    snprintf(k, sizeof k, "nvlink_%s", what);
    return gpu_u64(g, k, u);
}

nvmlReturn_t links_total(int g, const char *what, u64 *u)
{
    unsigned n = 0;
    gpu_u32(g, "nvlink_count", &n);
    if (!n)
        return NVML_ERROR_NOT_SUPPORTED;
    *u = 0;
    for (unsigned i = 0; i < n; i++) {
        u64 x;
        nvmlReturn_t r = link_value(g, i, what, &x);
        if (r)
            return r;
        *u += x;
    }
    return 0;
}

#define NVL(fn, T, what)                     \
    API fn(nvmlDevice_t d, unsigned l, T *o) \
    {                                        \
        ENTER(d, 0);                         \
        NEED(o);                             \
        u64 u;                               \
        r = link_value(c.gpu, l, what, &u);  \
        if (!r)                              \
            *o = (T)u;                       \
        return leave(r);                     \
    }
NVL(nvmlDeviceGetNvLinkState, nvmlEnableState_t, "state")
NVL(nvmlDeviceGetNvLinkVersion, unsigned, "version")

API nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t d, unsigned l, nvmlNvLinkErrorCounter_t t, unsigned long long *o)
{
    static const char *k[] = {"replay", "recovery", "crc_flit", "crc_data", "ecc"};
    ENTER(d, 0);
    NEED(o && (unsigned)t < 5);
    u64 u;
    r = link_value(c.gpu, l, k[t], &u);
    if (!r)
        *o = u;
    return leave(r);
}

API nvmlDeviceGetNvLinkCapability(nvmlDevice_t d, unsigned l, nvmlNvLinkCapability_t t, unsigned *o)
{
    ENTER(d, 0);
    NEED(o);
    (void)t;
    u64 u;
    r = link_value(c.gpu, l, "state", &u);
    if (!r)
        *o = 1;
    return leave(r);
}

nvmlReturn_t link_field(int g, unsigned id, unsigned scope, int *ty, u64 *u)
{
    static const struct {
        unsigned a, b, tot;
        const char *k;
    } R[] = {
        {32,  96,  38,  "crc_flit"  },
        {39,  102, 45,  "crc_data"  },
        {46,  108, 52,  "replay"    },
        {53,  114, 59,  "recovery"  },
        {84,  132, 90,  "speed_mbps"},
        {148, 154, 160, "ecc"       }
    };
    *ty = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
    for (unsigned i = 0; i < 6; i++) {
        *ty = i == 4 ? NVML_VALUE_TYPE_UNSIGNED_INT : NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
        if (id == R[i].tot)
            return i == 4 ? link_value(g, -1, R[i].k, u) : links_total(g, R[i].k, u);
        if (id >= R[i].a && id < R[i].a + 6)
            return link_value(g, id - R[i].a, R[i].k, u);
        if (id >= R[i].b && id < R[i].b + 6)
            return link_value(g, id - R[i].b + 6, R[i].k, u);
    }
    const char *k = NULL;
    *ty = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
    switch (id) {
    case 138:
    case 140: k = "tx_kib"; break;
    case 139:
    case 141: k = "rx_kib"; break;
    case 161: k = "replay"; break;
    case 162: k = "recovery"; break;
    case 163: k = "crc_flit"; break;
    case 164:
        k = "speed_mbps";
        *ty = NVML_VALUE_TYPE_UNSIGNED_INT;
        break;
    case 165:
        k = "state";
        *ty = NVML_VALUE_TYPE_UNSIGNED_INT;
        break;
    case 166:
        k = "version";
        *ty = NVML_VALUE_TYPE_UNSIGNED_INT;
        break;
    }
    if (k)
        return scope == NO_INSTANCE && id <= 163 ? links_total(g, k, u)
                                                 : link_value(g, scope == NO_INSTANCE ? 0 : scope, k, u);
    if (id == 202 || id == 204) {
        unsigned v = 0;
        gpu_u32(g, "nvlink_version", &v);
        if (v < 8)
            return NVML_ERROR_NOT_SUPPORTED;
        nvmlReturn_t r = scope == NO_INSTANCE ? links_total(g, id == 202 ? "tx_kib" : "rx_kib", u)
                                              : link_value(g, scope, id == 202 ? "tx_kib" : "rx_kib", u);
        *u *= 1024;
        return r;
    }
    return NVML_ERROR_NOT_SUPPORTED;
}
