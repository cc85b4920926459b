#include "pingpong/crew.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "kit/fail.h"

static void *zeroed(size_t count, size_t size)
{
    void *made = aligned_alloc(TEAM_LINE, (count * size + TEAM_LINE - 1) / TEAM_LINE * TEAM_LINE);
    if (!made)
        fail(EXIT_ENVIRONMENT, "not enough memory for %zu threads", count);
    return memset(made, 0, count * size);
}

/* Ends the thread's part of a round. A failed thread does not return: its partner may be waiting for it, and the program ends. */
static void report_done(struct crew *crew, struct seat *seat)
{
    bool failed = seat->player.fault || seat->found_on != seat->cpu;
    pthread_mutex_lock(&crew->mutex);
    crew->playing--;
    seat->playing = false;
    if (failed && !crew->failed)
        crew->failed = seat;
    if (crew->playing == 0 || failed)
        pthread_cond_signal(&crew->changed);
    pthread_mutex_unlock(&crew->mutex);
    while (failed)
        pause();
}

static void wait_for_go(struct seat *seat)
{
    while (sem_wait(&seat->go) != 0) /* interrupted by a signal */
        ;
}

/* The main function of each thread. */
static void serve(struct member *member)
{
    struct crew *crew = member->context;
    struct seat *seat = &crew->seats[member->index];
    report_done(crew, seat); /* the thread is ready */
    for (wait_for_go(seat); seat->player.game; wait_for_go(seat)) {
        if (seat->player.leads) {
            slot_prepare(&seat->player.game->slot);
            sem_post(&seat->partner->go);
        }
        play(&seat->player);
        int now = sched_getcpu();
        seat->found_on = now < 0 ? seat->cpu : now; /* unknown */
        report_done(crew, seat);
    }
}

static struct timespec moment_in(uint64_t ns)
{
    struct timespec moment;
    clock_gettime(CLOCK_MONOTONIC, &moment);
    ns += (uint64_t)moment.tv_nsec;
    moment.tv_sec += (time_t)(ns / 1000000000);
    moment.tv_nsec = (long)(ns % 1000000000);
    return moment;
}

/* Ends the program with the error of a thread. */
__attribute__((noreturn)) static void fail_by(const struct seat *seat)
{
    long long cpu = seat->cpu;
    if (seat->player.fault)
        fail(EXIT_SELF_CHECK, "CPU %lld with CPU %lld: %s", cpu, (long long)seat->partner->cpu, seat->player.fault);
    fail(EXIT_ENVIRONMENT, "CPU %lld went offline during the measurement: its thread is on CPU %lld now", cpu,
         (long long)seat->found_on);
}

/* Ends the program with the error of the first unfinished thread. */
__attribute__((noreturn)) static void fail_by_time(const struct crew *crew)
{
    const struct seat *seat = crew->seats;
    unsigned long long ms = crew->patience_ns / 1000000;
    while (!seat->playing)
        seat++;
    if (!seat->partner)
        fail(EXIT_ENVIRONMENT, "the thread on CPU %lld did not start within %llu ms", (long long)seat->cpu, ms);
    fail(EXIT_ENVIRONMENT, "CPU %lld and CPU %lld did not finish within %llu ms (%zu threads did not): did a CPU go offline, or "
         "does a task of higher priority occupy one?", (long long)seat->cpu, (long long)seat->partner->cpu,
         ms, crew->playing);
}

static void wait_until_done(struct crew *crew)
{
    struct timespec until = moment_in(crew->patience_ns);
    int error = 0;
    pthread_mutex_lock(&crew->mutex);
    while (crew->playing > 0 && !crew->failed && error != ETIMEDOUT)
        error = pthread_cond_timedwait(&crew->changed, &crew->mutex, &until);
    if (crew->failed)
        fail_by(crew->failed);
    if (crew->playing > 0)
        fail_by_time(crew);
    pthread_mutex_unlock(&crew->mutex);
}

void crew_start(struct crew *crew, const struct rules *rules, const int64_t *cpus, size_t count, size_t batches,
                uint64_t patience_ns)
{
    pthread_condattr_t monotonic;
    memset(crew, 0, sizeof *crew);
    crew->patience_ns = patience_ns;
    crew->seats = zeroed(count, sizeof *crew->seats);
    crew->games = zeroed(count / 2, sizeof *crew->games);
    pthread_mutex_init(&crew->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&crew->changed, &monotonic);
    for (size_t i = 0; i < count; i++) {
        sem_init(&crew->seats[i].go, 0, 0);
        crew->seats[i].cpu = crew->seats[i].found_on = cpus[i];
        crew->seats[i].playing = true;
        for (size_t k = 0; k < rules->method_count; k++)
            series_open(&crew->seats[i].player.series[rules->methods[k]], batches);
    }
    crew->playing = count;
    team_start(&crew->team, rules->timer, cpus, count, serve, crew);
    wait_until_done(crew);
}

static void seat_pair(struct crew *crew, const struct rules *rules, struct duo pair, struct game *game)
{
    struct seat *leader = &crew->seats[pair.a], *follower = &crew->seats[pair.b];
    game->rules = rules;
    leader->player.game = follower->player.game = game;
    leader->player.leads = true;
    follower->player.leads = false;
    leader->partner = follower;
    follower->partner = leader;
    leader->playing = follower->playing = true;
}

void crew_play(struct crew *crew, const struct rules *rules, const struct duo *pairs, size_t count)
{
    crew->playing = 2 * count; /* all threads sleep */
    for (size_t i = 0; i < count; i++)
        seat_pair(crew, rules, pairs[i], &crew->games[i]);
    for (size_t i = 0; i < count; i++)
        sem_post(&crew->seats[pairs[i].a].go);
    wait_until_done(crew);
}

struct checked crew_end(struct crew *crew)
{
    struct checked checked = {0, 0};
    size_t count = crew->team.count;
    for (size_t i = 0; i < count; i++) {
        crew->seats[i].player.game = NULL;
        sem_post(&crew->seats[i].go);
    }
    team_join(&crew->team);
    for (size_t i = 0; i < count; i++) {
        checked.messages += crew->seats[i].player.messages;
        checked.lines += crew->seats[i].player.lines;
        for (size_t k = 0; k < PLAY_METHODS; k++)
            series_close(&crew->seats[i].player.series[k]);
    }
    free(crew->seats);
    free(crew->games);
    return checked;
}
