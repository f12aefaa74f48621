/* What the words of a scenario mean: return names, sizes, and lists of attributes. */
#include "fakenvml.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

static const struct {
    const char *n;
    int v;
} RETURNS[] = {
    {"SUCCESS",                   0  },
    {"UNINITIALIZED",             1  },
    {"INVALID_ARGUMENT",          2  },
    {"NOT_SUPPORTED",             3  },
    {"N/A",                       3  },
    {"NO_PERMISSION",             4  },
    {"ALREADY_INITIALIZED",       5  },
    {"NOT_FOUND",                 6  },
    {"INSUFFICIENT_SIZE",         7  },
    {"INSUFFICIENT_POWER",        8  },
    {"DRIVER_NOT_LOADED",         9  },
    {"TIMEOUT",                   10 },
    {"IRQ_ISSUE",                 11 },
    {"LIBRARY_NOT_FOUND",         12 },
    {"FUNCTION_NOT_FOUND",        13 },
    {"CORRUPTED_INFOROM",         14 },
    {"GPU_IS_LOST",               15 },
    {"RESET_REQUIRED",            16 },
    {"OPERATING_SYSTEM",          17 },
    {"LIB_RM_VERSION_MISMATCH",   18 },
    {"IN_USE",                    19 },
    {"MEMORY",                    20 },
    {"NO_DATA",                   21 },
    {"VGPU_ECC_NOT_SUPPORTED",    22 },
    {"INSUFFICIENT_RESOURCES",    23 },
    {"FREQ_NOT_SUPPORTED",        24 },
    {"ARGUMENT_VERSION_MISMATCH", 25 },
    {"DEPRECATED",                26 },
    {"NOT_READY",                 27 },
    {"GPU_NOT_FOUND",             28 },
    {"INVALID_STATE",             29 },
    {"UNKNOWN",                   999}
};
int return_code(const char *s)
{
    if (!strncmp(s, "NVML_ERROR_", 11))
        s += 11;
    else if (!strncmp(s, "NVML_", 5))
        s += 5;
    for (unsigned i = 0; i < sizeof RETURNS / sizeof *RETURNS; i++) {
        size_t n = strlen(RETURNS[i].n);
        if (!strncmp(s, RETURNS[i].n, n) && (!s[n] || s[n] == '/'))
            return RETURNS[i].v;
    }
    return -1;
}

u64 parse_size(const char *s)
{
    if (!strcmp(s, "N/A"))
        return ~0ull;
    char *e;
    u64 v;
    double d;
    if (strchr(s, '.')) {
        d = strtod(s, &e);
    } else {
        v = strtoull(s, &e, 0);
        if (!*e)
            return v;
        d = (double)v;
    }
    if (!strncasecmp(e, "kib", 3))
        d *= 1024;
    else if (!strncasecmp(e, "mib", 3))
        d *= 1048576;
    else if (!strncasecmp(e, "gib", 3))
        d *= 1073741824;
    return (u64)d;
}

const char *attribute(const char *v, const char *k, char *o, size_t n)
{
    size_t kl = strlen(k);
    for (const char *p = v; *p;) {
        while (isspace((unsigned char)*p))
            p++;
        const char *e = p;
        int q = 0;
        while (*e && (q || !isspace((unsigned char)*e))) {
            if (*e == '"')
                q = !q;
            e++;
        }
        if ((size_t)(e - p) > kl && !strncmp(p, k, kl) && p[kl] == '=') {
            const char *b = p + kl + 1;
            size_t l = e - b;
            if (l >= 2 && *b == '"') {
                b++;
                l -= 2;
            }
            if (l >= n)
                l = n - 1;
            memcpy(o, b, l);
            o[l] = 0;
            return o;
        }
        p = e;
    }
    return NULL;
}

u64 attribute_number(const char *v, const char *k, u64 d)
{
    char b[128];
    return attribute(v, k, b, sizeof b) ? parse_size(b) : d;
}

void warn(const char *f, ...)
{
    if (getenv("FAKENVML_QUIET"))
        return;
    va_list a;
    va_start(a, f);
    fprintf(stderr, "fakenvml: ");
    vfprintf(stderr, f, a);
    fputc('\n', stderr);
    va_end(a);
}
