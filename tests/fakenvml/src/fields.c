/* nvmlDeviceGetFieldValues: numbers of nvml.h (NVML_FI_*) mapped to keys, each with its type. */
#include "fakenvml.h"
#include <stdio.h>

enum {
    D = NVML_VALUE_TYPE_DOUBLE,
    UI = NVML_VALUE_TYPE_UNSIGNED_INT,
    UL = NVML_VALUE_TYPE_UNSIGNED_LONG,
    ULL = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG,
    SLL = NVML_VALUE_TYPE_SIGNED_LONG_LONG,
    SI = NVML_VALUE_TYPE_SIGNED_INT,
    US = NVML_VALUE_TYPE_UNSIGNED_SHORT
};

static const struct {
    unsigned id;
    int ty;
    const char *k;
} FIELDS[] = {
    {1,   UI,  "ecc_mode"                },
    {2,   UI,  "ecc_pending"             },
    {3,   ULL, "ecc_sbe_vol"             },
    {4,   ULL, "ecc_dbe_vol"             },
    {5,   ULL, "ecc_sbe_agg"             },
    {6,   ULL, "ecc_dbe_agg"             },
    {11,  ULL, "ecc_sbe_vol"             },
    {12,  ULL, "ecc_dbe_vol"             },
    {22,  ULL, "ecc_sbe_agg"             },
    {23,  ULL, "ecc_dbe_agg"             },
    {31,  UI,  "retired_pending"         },
    {74,  ULL, "violation_power_ns"      },
    {75,  ULL, "violation_thermal_ns"    },
    {76,  ULL, "violation_syncboost_ns"  },
    {77,  ULL, "violation_board_ns"      },
    {78,  ULL, "violation_lowutil_ns"    },
    {79,  ULL, "violation_reliability_ns"},
    {80,  ULL, "violation_appclk_ns"     },
    {81,  ULL, "violation_baseclk_ns"    },
    {82,  UI,  "temp_mem"                },
    {83,  ULL, "energy_mj"               },
    {91,  UI,  "nvlink_count"            },
    {94,  UI,  "pcie_replay"             },
    {142, UI,  "remapped_corr"           },
    {143, UI,  "remapped_unc"            },
    {144, UI,  "remapped_pending"        },
    {145, UI,  "remapped_failure"        },
    {147, UI,  "nvlink_switch_links"     },
    {185, UI,  "power_usage_mw"          },
    {186, UI,  "power_instant_mw"        },
    {187, UI,  "power_min_mw"            },
    {188, UI,  "power_max_mw"            },
    {189, UI,  "power_default_limit_mw"  },
    {190, UI,  "enforced_power_limit_mw" },
    {191, ULL, "energy_mj"               },
    {192, UI,  "power_limit_mw"          },
    {193, SI,  "temp_tlimit_shutdown"    },
    {194, SI,  "temp_tlimit_slowdown"    },
    {195, SI,  "temp_tlimit_mem"         },
    {196, SI,  "temp_tlimit_gpu"         },
    {197, UI,  "pcie_tx_bytes"           },
    {198, UI,  "pcie_rx_bytes"           },
    {230, UI,  "recovery_action"         },
    {269, ULL, "event_sw_therm_ns"       },
    {270, ULL, "event_hw_therm_ns"       },
    {271, ULL, "event_hw_brake_ns"       },
    {308, SI,  "temp_gpu"                }
};

static nvmlReturn_t read_field(int g, nvmlFieldValue_t *v)
{
    char k[64], b[96];
    const char *s = NULL;
    int ty = UI;
    u64 u = 0;
    double d = 0;
    nvmlReturn_t r;
    int found = -1;
    if (!v->fieldId || v->fieldId >= NVML_FI_MAX)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++)
        if (FIELDS[i].id == v->fieldId) {
            found = i;
            ty = FIELDS[i].ty;
        }
    snprintf(k, sizeof k, "field.%u.%u", v->fieldId, v->scopeId);
    s = gpu_text(g, k);
    if (!s) {
        snprintf(k, sizeof k, "field.%u", v->fieldId);
        s = gpu_text(g, k);
    }
    if (s) {
        snprintf(b, sizeof b, "%s", s);
        char *q = strchr(b, ':');
        if (q) {
            *q++ = 0;
            ty = !strcmp(q, "double")   ? D
                 : !strcmp(q, "ulong")  ? UL
                 : !strcmp(q, "ull")    ? ULL
                 : !strcmp(q, "sll")    ? SLL
                 : !strcmp(q, "int")    ? SI
                 : !strcmp(q, "ushort") ? US
                                        : UI;
        } else if (found < 0) {
            int t2;
            u64 x;
            if (!link_field(g, v->fieldId, v->scopeId, &t2, &x))
                ty = t2;
        }
        r = evaluate(b, text_hash(k) * 31 + g, now_s(), &d, &u);
    } else if (found >= 0)
        r = gpu_number(g, FIELDS[found].k, now_s(), &d, &u);
    else {
        r = link_field(g, v->fieldId, v->scopeId, &ty, &u);
        d = (double)u;
    }
    if (r)
        return r;
    v->valueType = ty;
    memset(&v->value, 0, sizeof v->value);
    switch (ty) {
    case D: v->value.dVal = d; break;
    case UI: v->value.uiVal = (unsigned)u; break;
    case UL: v->value.ulVal = u; break;
    case ULL: v->value.ullVal = u; break;
    case SLL: v->value.sllVal = (long long)u; break;
    case SI: v->value.siVal = (int)u; break;
    case US: v->value.usVal = (unsigned short)u; break;
    }
    return 0;
}

API nvmlDeviceGetFieldValues(nvmlDevice_t d, int n, nvmlFieldValue_t *v)
{
    ENTER_WITH(d, ON_MIG, n > 0 ? n : 0);
    NEED(v && n > 0);
    for (int i = 0; i < n; i++) {
        v[i].nvmlReturn = read_field(c.gpu, &v[i]);
        v[i].timestamp = (long long)(now_s() * 1e6);
        v[i].latencyUsec = 0;
    }
    return leave(0);
}

API nvmlDeviceClearFieldValues(nvmlDevice_t d, int n, nvmlFieldValue_t *v)
{
    ENTER(d, 0);
    NEED(v && n > 0);
    for (int i = 0; i < n; i++)
        v[i].nvmlReturn = 0;
    return leave(0);
}
