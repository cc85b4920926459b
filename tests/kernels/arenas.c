/* Threads map arenas of 2 MiB pages at the same time, although the pool contains fewer pages than they need together. This is
 * repeated, because a thread may count the free pages while others populate theirs. */
#include <pthread.h>
#include <stdio.h>

#include "kit/arena.h"

#define ROUNDS 20
#define THREADS 6
#define BYTES (8 << 20)

static struct arena arenas[THREADS];

static void *map_one(void *place)
{
    *(struct arena *)place = arena_map("2m", BYTES, -1);
    return NULL;
}

static int map_all(void)
{
    pthread_t threads[THREADS];
    int64_t free_before = hugepool_free(1 << 21, -1), added = 0;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, map_one, &arenas[i]) != 0)
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        if (arenas[i].page_bytes != 1 << 21 || arenas[i].bytes != BYTES)
            return 2;
        added += arenas[i].pool_added;
    }
    if (added + free_before < THREADS * (BYTES >> 21))
        return 3;
    for (int i = 0; i < THREADS; i++)
        if (!arena_release(&arenas[i]))
            return 4;
    return 0;
}

int main(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        int status = map_all();
        if (status != 0)
            return status;
    }
    puts("ok");
    return 0;
}
