/* Processes on a GPU, their utilization, and process accounting. */
#include "fakenvml.h"
#include <signal.h>

int process_counts(struct call *c, struct process *p)
{
    if (p->gpu != c->gpu)
        return 0;
    if (c->mig && (p->gi != c->mig->gi || p->ci != c->mig->ci))
        return 0;
    if (atoi(global_text("hide_dead_pids")) && kill((pid_t)p->pid, 0))
        return 0;
    return 1;
}

static nvmlReturn_t list_processes(struct call *c, char type, unsigned *n, nvmlProcessInfo_t *o)
{
    if (!n)
        return NVML_ERROR_INVALID_ARGUMENT;
    unsigned k = 0, cap = o ? *n : 0;
    unsigned mode = 0;
    gpu_u32(c->gpu, "mig_mode", &mode);
    for (int i = 0; i < current->process_count; i++)
        if (current->processes[i].type == type && process_counts(c, &current->processes[i])) {
            if (k < cap)
                o[k] = (nvmlProcessInfo_t){.pid = current->processes[i].pid,
                                           .usedGpuMemory = current->processes[i].mem,
                                           .gpuInstanceId = mode ? current->processes[i].gi : NO_INSTANCE,
                                           .computeInstanceId = mode ? current->processes[i].ci : NO_INSTANCE};
            k++;
        }
    *n = k;
    return k > cap ? NVML_ERROR_INSUFFICIENT_SIZE : 0;
}

API nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t d, unsigned *n, nvmlProcessInfo_t *o)
{
    ENTER(d, ON_MIG);
    return leave(list_processes(&c, 'C', n, o));
}

API nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t d, unsigned *n, nvmlProcessInfo_t *o)
{
    ENTER(d, ON_MIG);
    return leave(list_processes(&c, 'G', n, o));
}

API nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t d, unsigned *n, nvmlProcessInfo_t *o)
{
    ENTER(d, ON_MIG);
    return leave(list_processes(&c, 'M', n, o));
}
ALIAS(nvmlDeviceGetComputeRunningProcesses_v2, nvmlDeviceGetComputeRunningProcesses_v3, nvmlDevice_t, unsigned *,
      nvmlProcessInfo_v2_t *);
ALIAS(nvmlDeviceGetGraphicsRunningProcesses_v2, nvmlDeviceGetGraphicsRunningProcesses_v3, nvmlDevice_t, unsigned *,
      nvmlProcessInfo_v2_t *);
ALIAS(nvmlDeviceGetMPSComputeRunningProcesses_v2, nvmlDeviceGetMPSComputeRunningProcesses_v3, nvmlDevice_t, unsigned *,
      nvmlProcessInfo_v2_t *);

_Static_assert(sizeof(nvmlProcessInfo_t) == sizeof(nvmlProcessInfo_v2_t), "v2 and v3 share a layout");
u64 sample_clock_us(int g, double t)
{
    unsigned p = 100;
    gpu_u32(g, "sample_period_ms", &p);
    u64 us = (u64)(t * 1e6), q = (u64)(p ? p : 1) * 1000;
    return us - us % q;
}

API nvmlDeviceGetProcessUtilization(nvmlDevice_t d, nvmlProcessUtilizationSample_t *o, unsigned *n,
                                    unsigned long long last)
{
    ENTER(d, NOT_IN_MIG_MODE);
    NEED(n);
    u64 t = sample_clock_us(c.gpu, now_s());
    unsigned k = 0, cap = o ? *n : 0;
    if (t > last)
        for (int i = 0; i < current->process_count; i++) {
            struct process *p = &current->processes[i];
            if (process_counts(&c, p) && (p->sm | p->memu | p->enc | p->dec)) {
                if (k < cap)
                    o[k] = (nvmlProcessUtilizationSample_t){p->pid, t, p->sm, p->memu, p->enc, p->dec};
                k++;
            }
        }
    *n = k;
    return leave(!k ? NVML_ERROR_NOT_FOUND : k > cap ? NVML_ERROR_INSUFFICIENT_SIZE : 0);
}

API nvmlDeviceGetProcessesUtilizationInfo(nvmlDevice_t d, nvmlProcessesUtilizationInfo_t *q)
{
    ENTER(d, NOT_IN_MIG_MODE);
    NEED(q);
    u64 t = sample_clock_us(c.gpu, now_s());
    unsigned k = 0, cap = q->procUtilArray ? q->processSamplesCount : 0;
    if (t > q->lastSeenTimeStamp)
        for (int i = 0; i < current->process_count; i++) {
            struct process *p = &current->processes[i];
            if (process_counts(&c, p) && (p->sm | p->memu | p->enc | p->dec | p->jpg | p->ofa)) {
                if (k < cap)
                    q->procUtilArray[k] =
                        (nvmlProcessUtilizationInfo_v1_t){t, p->pid, p->sm, p->memu, p->enc, p->dec, p->jpg, p->ofa};
                k++;
            }
        }
    q->processSamplesCount = k;
    return leave(!k ? NVML_ERROR_NOT_FOUND : k > cap ? NVML_ERROR_INSUFFICIENT_SIZE : 0);
}

API nvmlDeviceGetAccountingPids(nvmlDevice_t d, unsigned *n, unsigned *o)
{
    ENTER(d, 0);
    NEED(n);
    unsigned k = 0, cap = o ? *n : 0;
    for (int i = 0; i < current->accounted_count; i++)
        if (current->accounted[i].gpu == c.gpu) {
            if (k < cap)
                o[k] = current->accounted[i].pid;
            k++;
        }
    *n = k;
    return leave(k > cap ? NVML_ERROR_INSUFFICIENT_SIZE : 0);
}

API nvmlDeviceGetAccountingStats(nvmlDevice_t d, unsigned pid, nvmlAccountingStats_t *o)
{
    ENTER(d, 0);
    NEED(o);
    unsigned m = 0;
    gpu_u32(c.gpu, "accounting_mode", &m);
    if (!m)
        return leave(NVML_ERROR_NOT_SUPPORTED);
    for (int i = 0; i < current->accounted_count; i++)
        if (current->accounted[i].gpu == c.gpu && current->accounted[i].pid == pid) {
            struct accounted *a = &current->accounted[i];
            *o = (nvmlAccountingStats_t){.gpuUtilization = a->gu,
                                         .memoryUtilization = a->mu,
                                         .maxMemoryUsage = a->max,
                                         .time = a->ms,
                                         .startTime = a->start,
                                         .isRunning = a->run};
            return leave(0);
        }
    return leave(NVML_ERROR_NOT_FOUND);
}
