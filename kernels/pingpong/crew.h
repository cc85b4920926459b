/* One thread per CPU for the whole run. Threads without a pair sleep: polling would slow down the core's other thread, take
 * power from other cores and CPU time from other programs. */
#ifndef PINGPONG_CREW_H
#define PINGPONG_CREW_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kit/team.h"
#include "pingpong/play.h"
#include "pingpong/schedule.h"

struct seat {
    sem_t go;
    struct player player; /* NULL: end the thread */
    struct seat *partner; /* the thread that the leader wakes when the memory is ready */
    int64_t cpu, found_on; /* the CPU to which it is bound, and the one on which it finished */
    bool playing;
} __attribute__((aligned(TEAM_LINE)));

struct crew {
    struct team team;
    struct seat *seats; /* one per CPU */
    struct game *games; /* as many as the largest round has pairs */
    uint64_t patience_ns;
    pthread_mutex_t mutex; /* protects the following members, and `playing` of each seat */
    pthread_cond_t changed;
    size_t playing;
    const struct seat *failed; /* the first failure */
};

/* Starts the threads; ends the program with 3 for a CPU that cannot be used. */
void crew_start(struct crew *crew, const struct rules *rules, const int64_t *cpus, size_t count, size_t batches,
                uint64_t patience_ns);

/* Measures the pairs of a round at the same time, the i-th with the memory of `games[i]`, which then has the results. Ends the
 * program with 3 if a CPU does not respond or went offline, with 4 if a self-check failed. */
void crew_play(struct crew *crew, const struct rules *rules, const struct duo *pairs, size_t count);

struct checked {
    uint64_t messages, lines;
};

/* Ends the threads and returns what they verified. */
struct checked crew_end(struct crew *crew);

#endif
