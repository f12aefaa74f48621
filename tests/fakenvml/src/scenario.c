/* The scenario file: which it is, and reading it again when it changed. */
#include "fakenvml.h"
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

static char path[4096];
static int path_is_fixed;
static struct stat last_stat;
static int have_last_stat;
static pthread_mutex_t load_mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_long reloads;
struct scenario *current;
pthread_rwlock_t scenario_lock = PTHREAD_RWLOCK_INITIALIZER;
struct table base_defaults, global_defaults, model_defaults[MODEL_COUNT];
double load_time_s;

static void prepare_tables(void)
{
    static int done;
    if (done)
        return;
    done = 1;
    table_read(BASE_DEFAULTS, &base_defaults);
    table_read(GLOBAL_DEFAULTS, &global_defaults);
    for (unsigned i = 0; i < MODEL_COUNT; i++)
        table_read(MODELS[i].text, &model_defaults[i]);
    for (int g = 0; g < MAX_GPUS; g++)
        for (int m = 0; m <= MAX_MIG; m++)
            devices[g][m] = (struct nvmlDevice_st){g, m - 1};
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    load_time_s = t.tv_sec + t.tv_nsec / 1e9;
}

static void scenario_free(struct scenario *s)
{
    if (!s)
        return;
    table_free(&s->global);
    table_free(&s->every_gpu);
    for (int i = 0; i < MAX_GPUS; i++)
        table_free(&s->gpu[i]);
    free(s);
}

/* One stat() per NVML call; the file is parsed again only when it changed. */
void refresh(int force)
{
    struct stat st;
    if (!*path) {
        if (current && !force)
            return;
        memset(&st, 0, sizeof st);
    } else if (stat(path, &st)) {
        if (current)
            return;
        memset(&st, 0, sizeof st);
    } else if (!force && current && have_last_stat && st.st_mtim.tv_sec == last_stat.st_mtim.tv_sec &&
               st.st_mtim.tv_nsec == last_stat.st_mtim.tv_nsec && st.st_size == last_stat.st_size &&
               st.st_ino == last_stat.st_ino)
        return;
    pthread_mutex_lock(&load_mutex);
    prepare_tables();
    struct scenario *n = calloc(1, sizeof *n);
    FILE *f = *path ? fopen(path, "r") : NULL;
    if (f) {
        char *b = NULL;
        size_t c = 0;
        int no = 0;
        while (getline(&b, &c, f) >= 0)
            parse_line(n, b, ++no);
        free(b);
        fclose(f);
    } else if (*path)
        warn("cannot read %s", path);
    pthread_rwlock_wrlock(&scenario_lock);
    struct scenario *o = current;
    current = n;
    last_stat = st;
    have_last_stat = 1;
    pthread_rwlock_unlock(&scenario_lock);
    scenario_free(o);
    reloads++;
    pthread_mutex_unlock(&load_mutex);
}

void choose_scenario(void)
{
    if (!path_is_fixed) {
        const char *e = getenv("FAKENVML_SCENARIO");
        snprintf(path, sizeof path, "%s", e ? e : "");
    }
}

__attribute__((constructor)) static void ctor(void)
{
    prepare_tables();
    choose_scenario();
    refresh(1);
}

void fakenvml_set_scenario(const char *p)
{
    snprintf(path, sizeof path, "%s", p ? p : "");
    path_is_fixed = 1;
    refresh(1);
}

long fakenvml_reloads(void)
{
    return reloads;
}
