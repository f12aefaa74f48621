/* The driver's buffer of samples, on a clock of its own. */
#include "fakenvml.h"

static const char *SAMPLE_KEYS[] = {"power_usage_mw", "util_gpu",  "util_mem", "util_enc", "util_dec",
                                    "clock_sm",       "clock_mem", 0,          "util_jpg", "util_ofa"};
API nvmlDeviceGetSamples(nvmlDevice_t d, nvmlSamplingType_t ty, unsigned long long last, nvmlValueType_t *vt,
                         unsigned *n, nvmlSample_t *o)
{
    ENTER(d, 0);
    NEED(vt && n && (unsigned)ty < 10);
    if (!SAMPLE_KEYS[ty])
        return leave(NVML_ERROR_NOT_SUPPORTED);
    unsigned mode = 0, answers = 0;
    gpu_u32(c.gpu, "mig_mode", &mode);
    gpu_u32(c.gpu, "mig_utilization", &answers);
    if (mode && !answers && ty != NVML_TOTAL_POWER_SAMPLES && ty != NVML_PROCESSOR_CLK_SAMPLES && ty != NVML_MEMORY_CLK_SAMPLES)
        return leave(NVML_ERROR_NOT_SUPPORTED);
    unsigned N = 120, P = 100;
    gpu_u32(c.gpu, "samples_n", &N);
    gpu_u32(c.gpu, "sample_period_ms", &P);
    *vt = NVML_VALUE_TYPE_UNSIGNED_INT;
    if (!o) {
        *n = N;
        return leave(0);
    }
    u64 e = sample_clock_us(c.gpu, now_s()), q = (u64)P * 1000, u;
    double f;
    unsigned k = 0;
    for (u64 i = N; i-- > 0 && k < *n;) {
        u64 t = e - i * q;
        if (t <= last)
            continue;
        if ((r = gpu_number(c.gpu, SAMPLE_KEYS[ty], t / 1e6, &f, &u)))
            return leave(r);
        o[k].timeStamp = t;
        memset(&o[k].sampleValue, 0, sizeof o[k].sampleValue);
        o[k++].sampleValue.uiVal = (unsigned)u;
    }
    *n = k;
    return leave(k ? 0 : NVML_ERROR_NOT_FOUND);
}
