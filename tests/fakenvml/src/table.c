/* Keys and values as text, in an open hash. */
#include "fakenvml.h"

unsigned text_hash(const char *s)
{
    unsigned h = 2166136261u;
    while (*s)
        h = (h ^ (unsigned char)*s++) * 16777619u;
    return h;
}

const char *table_get(const struct table *t, const char *k)
{
    if (!t->capacity)
        return NULL;
    for (unsigned i = text_hash(k) & (t->capacity - 1); t->entries[i].key; i = (i + 1) & (t->capacity - 1))
        if (!strcmp(t->entries[i].key, k))
            return t->entries[i].value;
    return NULL;
}

void table_put(struct table *t, const char *k, const char *v)
{
    if (t->count * 2 >= t->capacity) {
        struct table o = *t;
        t->capacity = o.capacity ? o.capacity * 2 : 64;
        t->count = 0;
        t->entries = calloc(t->capacity, sizeof *t->entries);
        for (unsigned i = 0; i < o.capacity; i++)
            if (o.entries[i].key) {
                table_put(t, o.entries[i].key, o.entries[i].value);
                free(o.entries[i].key);
                free(o.entries[i].value);
            }
        free(o.entries);
    }
    unsigned i = text_hash(k) & (t->capacity - 1);
    for (; t->entries[i].key; i = (i + 1) & (t->capacity - 1))
        if (!strcmp(t->entries[i].key, k)) {
            free(t->entries[i].value);
            t->entries[i].value = strdup(v);
            return;
        }
    t->entries[i].key = strdup(k);
    t->entries[i].value = strdup(v);
    t->count++;
}

void table_free(struct table *t)
{
    for (unsigned i = 0; i < t->capacity; i++) {
        free(t->entries[i].key);
        free(t->entries[i].value);
    }
    free(t->entries);
}

void table_read(const char *t, struct table *o)
{
    char *d = strdup(t), *s = NULL;
    for (char *l = strtok_r(d, "\n", &s); l; l = strtok_r(NULL, "\n", &s)) {
        char *q = strchr(l, '=');
        if (q) {
            *q = 0;
            table_put(o, l, q + 1);
        }
    }
    free(d);
}
