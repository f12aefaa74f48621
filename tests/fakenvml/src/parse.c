/* Reads one line of a scenario; README.md lists what may stand there. */
#include "fakenvml.h"
#include <ctype.h>
#include <stdio.h>
#include <unistd.h>

static int is_known_key(const char *k)
{
    static const char *pre[] = {"return.", "latency_us", "field.", "gpm.", "proc.", "mig.", "acct.", "nvlink.", 0};
    if (table_get(&base_defaults, k))
        return 1;
    for (int i = 0; pre[i]; i++)
        if (!strncmp(k, pre[i], strlen(pre[i])))
            return 1;
    return 0;
}

static void parse_gpu_line(struct scenario *s, int g, const char *k, const char *v)
{
    char b[128];
    if (!is_known_key(k))
        warn("unknown key gpu.%d.%s", g, k);
    if (g >= 0 && !strncmp(k, "proc.", 5) && s->process_count < MAX_PROCESSES) {
        struct process *p = &s->processes[s->process_count++];
        memset(p, 0, sizeof *p);
        p->gpu = g;
        p->pid = attribute(v, "pid", b, sizeof b) && !strcmp(b, "self") ? (unsigned)getpid()
                                                                        : (unsigned)attribute_number(v, "pid", 0);
        p->type = attribute(v, "type", b, sizeof b) ? toupper((unsigned char)*b) : 'C';
        p->mem = attribute_number(v, "mem", 0);
        p->gi = attribute_number(v, "gi", NO_INSTANCE);
        p->ci = attribute_number(v, "ci", NO_INSTANCE);
        p->sm = attribute_number(v, "sm", 0);
        p->memu = attribute_number(v, "memutil", 0);
        p->enc = attribute_number(v, "enc", 0);
        p->dec = attribute_number(v, "dec", 0);
        p->jpg = attribute_number(v, "jpg", 0);
        p->ofa = attribute_number(v, "ofa", 0);
    } else if (g >= 0 && !strncmp(k, "mig.", 4) && s->mig_count < MAX_GPUS * MAX_MIG) {
        int slot = atoi(k + 4);
        if (slot < 0 || slot >= MAX_MIG)
            return;
        struct mig_device *m = &s->migs[s->mig_count++];
        memset(m, 0, sizeof *m);
        m->gpu = g;
        m->slot = slot;
        m->gi = attribute_number(v, "gi", slot + 1);
        m->ci = attribute_number(v, "ci", 0);
        m->sms = attribute_number(v, "sms", 16);
        m->gslice = attribute_number(v, "gslice", 1);
        m->cslice = attribute_number(v, "cslice", 1);
        m->total = attribute_number(v, "mem_total", 9984ull << 20);
        m->used = attribute_number(v, "mem_used", NOT_GIVEN);
        if (!attribute(v, "uuid", m->uuid, sizeof m->uuid))
            snprintf(m->uuid, sizeof m->uuid, "MIG-%08x-fa4e-5000-8000-%012x", g + 1, slot + 1);
        attribute(v, "profile", m->name, sizeof m->name);
    } else if (g >= 0 && !strncmp(k, "acct.", 5) && s->accounted_count < MAX_PROCESSES) {
        struct accounted *a = &s->accounted[s->accounted_count++];
        *a = (struct accounted){g,
                                attribute_number(v, "pid", 0),
                                attribute_number(v, "gpu_util", 0),
                                attribute_number(v, "mem_util", 0),
                                attribute_number(v, "running", 0),
                                attribute_number(v, "max_mem", 0),
                                attribute_number(v, "time_ms", 0),
                                attribute_number(v, "start_us", 0)};
    } else
        table_put(g < 0 ? &s->every_gpu : &s->gpu[g], k, v);
}

static char *trim(char *s)
{
    while (isspace((unsigned char)*s))
        s++;
    char *e = s + strlen(s);
    while (e > s && isspace((unsigned char)e[-1]))
        *--e = 0;
    return s;
}

void parse_line(struct scenario *s, char *l, int no)
{
    l = trim(l);
    if (!*l || *l == '#')
        return;
    char *q = strchr(l, '=');
    if (!q) {
        warn("line %d has no '='", no);
        return;
    }
    *q = 0;
    char *k = trim(l), *v = trim(q + 1);
    if (!strncmp(k, "gpu.", 4)) {
        char *e = strchr(k + 4, '.');
        if (!e) {
            warn("line %d: bad key %s", no, k);
            return;
        }
        *e = 0;
        char *sel = k + 4;
        k = e + 1;
        if (!strcmp(sel, "*")) {
            if (!strncmp(k, "mig.", 4) || !strncmp(k, "proc.", 5))
                for (int i = 0; i < MAX_GPUS; i++)
                    parse_gpu_line(s, i, k, v);
            else
                parse_gpu_line(s, -1, k, v);
        } else {
            int a = atoi(sel), b = a;
            char *d = strchr(sel, '-');
            if (d)
                b = atoi(d + 1);
            for (int i = a; i <= b && i >= 0 && i < MAX_GPUS; i++)
                parse_gpu_line(s, i, k, v);
        }
    } else if (!strncmp(k, "event.", 6)) {
        if (s->event_count >= MAX_EVENTS)
            return;
        char b[64];
        struct event *e = &s->events[s->event_count++];
        e->id = strtoull(k + 6, 0, 0);
        e->gpu = attribute_number(v, "gpu", 0);
        e->data = attribute_number(v, "data", 0);
        e->gi = attribute_number(v, "gi", NO_INSTANCE);
        e->ci = attribute_number(v, "ci", NO_INSTANCE);
        e->type = 8;
        if (attribute(v, "type", b, sizeof b))
            e->type = !strcmp(b, "xid")      ? 8
                      : !strcmp(b, "sbe")    ? 1
                      : !strcmp(b, "dbe")    ? 2
                      : !strcmp(b, "pstate") ? 4
                      : !strcmp(b, "clock")  ? 16
                      : !strcmp(b, "mig")    ? 256
                                             : strtoull(b, 0, 0);
    } else {
        if (!table_get(&global_defaults, k) && strncmp(k, "return.", 7) && strncmp(k, "latency_us", 10))
            warn("unknown key %s", k);
        table_put(&s->global, k, v);
    }
}
