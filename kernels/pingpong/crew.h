/* A thread on each CPU for the whole run. Those whose turn it is not sleep: a thread that spins would take the core from its
 * sibling, power from the others, and the CPU from whoever else runs there. */
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
    struct player player; /* without a game: the end */
    struct seat *partner; /* whom the leader wakes when their memory is ready */
    int64_t cpu, found_on; /* the one it is bound to, and the one it was on when it was done */
    bool playing;
} __attribute__((aligned(TEAM_LINE)));

struct crew {
    struct team team;
    struct seat *seats; /* one a CPU */
    struct game *games; /* as many as a round has pairs at most */
    uint64_t patience_ns;
    pthread_mutex_t mutex; /* of what follows, and of `playing` of each seat */
    pthread_cond_t changed;
    size_t playing;
    const struct seat *failed; /* the first one */
};

/* Starts the threads. CPUs that may not be used end the program with 3. */
void crew_start(struct crew *crew, const struct rules *rules, const int64_t *cpus, size_t count, size_t batches,
                uint64_t patience_ns);

/* Plays the pairs of a round at the same time; the i-th with the memory that `games[i]` has, where its results
 * stand afterwards. Ends the program with 3 if a CPU does not answer or was taken away, with 4 if a self-check failed. */
void crew_play(struct crew *crew, const struct rules *rules, const struct duo *pairs, size_t count);

struct checked {
    uint64_t messages, lines;
};

/* Ends the threads; what they checked. */
struct checked crew_end(struct crew *crew);

#endif
