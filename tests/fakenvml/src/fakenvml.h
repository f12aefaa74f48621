/* A stand-in libnvidia-ml.so.1 for tests: the parts shared by its files.
 *
 * Prototypes and struct layouts come from NVIDIA's nvml.h (PyPI: nvidia-nvml-dev), so the compiler checks them. */
#ifndef FAKENVML_H
#define FAKENVML_H

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#pragma GCC visibility push(default) /* all else is hidden: see _FLAGS in building.py */
#include <nvml.h>
unsigned long fakenvml_calls(const char *function); /* NULL: of all functions */
void fakenvml_reset_calls(void);
int fakenvml_dump_calls(char *out, unsigned size);
long fakenvml_reloads(void);
void fakenvml_set_scenario(const char *path);
int fakenvml_stub(const char *name, void **slot);
#pragma GCC visibility pop

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long u64;
#define MAX_GPUS 64
#define MAX_MIG 16
#define MAX_PROCESSES 1024
#define MAX_EVENTS 1024
#define MODEL_COUNT 8
#define NO_INSTANCE 0xFFFFFFFFu /* NVML's word for "no GPU or compute instance" */
#define NOT_GIVEN (~0ull)

/* ---- defaults.c ---- */
struct model {
    const char *name, *text;
};
extern const char BASE_DEFAULTS[], GLOBAL_DEFAULTS[];
extern const struct model MODELS[MODEL_COUNT];

/* ---- table.c: text keys and values, by hash ---- */
struct entry {
    char *key, *value;
};
struct table {
    struct entry *entries;
    unsigned capacity, count;
};
unsigned text_hash(const char *s);
const char *table_get(const struct table *t, const char *key);
void table_put(struct table *t, const char *key, const char *value);
void table_read(const char *text, struct table *t); /* "key=value" lines */
void table_free(struct table *t);

/* ---- text.c: what the words of a scenario mean ---- */
int return_code(const char *s); /* -1: not a return name */
u64 parse_size(const char *s);
const char *attribute(const char *words, const char *key, char *out, size_t size); /* of "a=1 b=2"; NULL: absent */
u64 attribute_number(const char *words, const char *key, u64 absent);
void warn(const char *format, ...);

/* ---- scenario.c, parse.c: the file, read again whenever it changed ---- */
struct process {
    int gpu;
    unsigned pid;
    char type; /* C: compute, G: graphics, M: MPS */
    u64 mem;
    unsigned gi, ci, sm, memu, enc, dec, jpg, ofa;
};
struct mig_device {
    int gpu, slot;
    unsigned gi, ci, sms, gslice, cslice;
    u64 total, used;
    char uuid[96], name[96];
};
struct event {
    u64 id;
    int gpu;
    u64 type, data;
    unsigned gi, ci;
};
struct accounted {
    int gpu;
    unsigned pid, gu, mu, run;
    u64 max, ms, start;
};
struct scenario {
    struct table global, every_gpu, gpu[MAX_GPUS];
    struct process processes[MAX_PROCESSES];
    struct mig_device migs[MAX_GPUS * MAX_MIG];
    struct event events[MAX_EVENTS];
    struct accounted accounted[MAX_PROCESSES];
    int process_count, mig_count, event_count, accounted_count;
};
extern struct scenario *current;
extern pthread_rwlock_t scenario_lock; /* held for reading from enter() to leave() */
extern struct table base_defaults, global_defaults, model_defaults[MODEL_COUNT];
extern double load_time_s;
void parse_line(struct scenario *s, char *line, int number);
void choose_scenario(void);
void refresh(int force);

/* ---- values.c: what a key is worth now ---- */
const char *global_text(const char *key);
const char *gpu_text(int gpu, const char *key);
double now_s(void);
double origin_s(void); /* of rate() */
nvmlReturn_t evaluate(const char *s, unsigned salt, double time_s, double *real, u64 *whole);
nvmlReturn_t gpu_number(int gpu, const char *key, double time_s, double *real, u64 *whole);
nvmlReturn_t gpu_u64(int gpu, const char *key, u64 *out);
nvmlReturn_t gpu_u32(int gpu, const char *key, unsigned *out);
nvmlReturn_t gpu_string(int gpu, const char *key, char *out, unsigned size);
nvmlReturn_t copy_text(char *out, unsigned size, const char *s);
struct mig_device *mig_in_slot(int gpu, int slot);

/* ---- calls.c: what happens at the start and the end of every call ---- */
struct nvmlDevice_st {
    int gpu, slot;
};
extern struct nvmlDevice_st devices[MAX_GPUS][MAX_MIG + 1]; /* [gpu][0] is the GPU, [gpu][1 + slot] a MIG device */
extern atomic_int init_count;
extern int gpu_count;
struct counter {
    const char *name;
    atomic_ulong n;
    struct counter *next;
    atomic_flag linked;
};
struct call {
    int gpu, slot;
    struct mig_device *mig; /* NULL: a whole GPU */
};
enum { ON_MIG = 1, NOT_IN_MIG_MODE = 2, NO_DEVICE = 4, BEFORE_INIT = 8 };
nvmlReturn_t enter(struct call *c, struct counter *f, nvmlDevice_t d, int flags, unsigned fields);
nvmlReturn_t leave(nvmlReturn_t r);
const char *override_for(int gpu, const char *kind, const char *function);
void latency(int gpu, const char *function, unsigned fields);
void pause_us(double us);

/* ---- shared between NVML functions ---- */
void update_count(void);
void gpu_uuid(int gpu, char *out, unsigned size);
void gpu_serial(int gpu, char *out, unsigned size);
void gpu_bus(int gpu, unsigned *domain, unsigned *bus, unsigned *device, unsigned *function);
int process_counts(struct call *c, struct process *p);
u64 sample_clock_us(int gpu, double time_s); /* the last tick of the driver's sampler */
nvmlReturn_t link_value(int gpu, int link, const char *what, u64 *out);
nvmlReturn_t links_total(int gpu, const char *what, u64 *out);
nvmlReturn_t link_field(int gpu, unsigned id, unsigned scope, int *type, u64 *out);

#define API nvmlReturn_t DECLDIR
#define ENTER_WITH(d, flags, fields)                                           \
    static struct counter f_ = {.name = __func__, .linked = ATOMIC_FLAG_INIT}; \
    struct call c;                                                             \
    nvmlReturn_t r = enter(&c, &f_, d, flags, fields);                         \
    if (r)                                                                     \
    return leave(r)
#define ENTER(d, flags) ENTER_WITH(d, flags, 0)
#define NEED(x) \
    if (!(x))   \
    return leave(NVML_ERROR_INVALID_ARGUMENT)
#define ALIAS(new, old, ...) nvmlReturn_t new(__VA_ARGS__) __attribute__((alias(#old), visibility("default")))

#endif
