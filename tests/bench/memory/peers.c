/* A plain implementation for comparison: loops that the compiler optimizes (gcc -O3, see peers.py), and a chain of
 * pointers that is walked for a fixed time. Each call prints one figure to standard output.
 *
 *   peers chase BYTES PAGES CPU           ns per load, the best of five; PAGES is 4k or thp
 *   peers KERNEL BYTES CPU[,CPU]...       GB/s that the loop loads and stores; BYTES is the total size of the arrays of
 *                                         one thread; KERNEL is read, write, copy or triad
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define PASSES 5
#define CPUS_MAX 1024

struct worker {
    int cpu;
    pthread_t thread;
    double begin[PASSES + 1], end[PASSES + 1];
};

static pthread_barrier_t barrier;
static const char *kernel;
static size_t bytes;
static volatile double sink;
static double scalar = 3.0;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void bind_to(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) {
        perror("sched_setaffinity");
        exit(3);
    }
}

static void *memory(size_t size, int huge)
{
    size_t page = (size_t)2 << 20;
    char *wide = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (wide == MAP_FAILED) {
        perror("mmap");
        exit(3);
    }
    char *start = wide + (page - (uintptr_t)wide % page) % page;
    madvise(start, size, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    memset(start, 1, size);
    return start;
}

static uint64_t dice(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static int chase(size_t size, int huge, int cpu)
{
    bind_to(cpu);
    size_t count = size / 64;
    void **lines = memory(size, huge);
    uint32_t *order = malloc(count * sizeof *order);
    uint64_t state = 88172645463325252u;
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    for (size_t i = count - 1; i > 0; i--) { /* Sattolo's algorithm: one cycle through all lines */
        size_t other = dice(&state) % i;
        uint32_t kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    for (size_t i = 0; i < count; i++)
        lines[(size_t)order[i] * 8] = &lines[(size_t)order[(i + 1) % count] * 8];
    void **at = lines;
    double best = 1e9;
    for (int pass = 0; pass < PASSES; pass++) {
        size_t loads = 0;
        double start = now(), end;
        do {
            for (int i = 0; i < 20000; i++)
                at = *at;
            loads += 20000;
            end = now();
        } while (end - start < 0.1);
        double each = (end - start) / (double)loads * 1e9;
        best = pass > 0 && each < best ? each : best;
    }
    sink = (double)(uintptr_t)at;
    printf("%.3f\n", best);
    return 0;
}

static __attribute__((noinline)) double loop(double *restrict a, double *restrict b, double *restrict c, size_t count)
{
    double sum = 0.0;
    if (strcmp(kernel, "read") == 0) {
#pragma GCC unroll 8
        for (size_t i = 0; i < count; i++)
            sum += a[i];
    } else if (strcmp(kernel, "write") == 0) {
        for (size_t i = 0; i < count; i++)
            a[i] = scalar;
    } else if (strcmp(kernel, "copy") == 0) {
        for (size_t i = 0; i < count; i++)
            b[i] = a[i];
    } else {
        for (size_t i = 0; i < count; i++)
            c[i] = a[i] + scalar * b[i];
    }
    __asm__ volatile("" ::: "memory");
    return sum;
}

static size_t arrays(void)
{
    return strcmp(kernel, "copy") == 0 ? 2 : strcmp(kernel, "triad") == 0 ? 3 : 1;
}

static size_t repeats(void)
{
    return ((size_t)256 << 20) / bytes + 1;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    bind_to(worker->cpu);
    size_t count = bytes / arrays() / sizeof(double);
    double *a = memory(bytes, 1), *b = a + (arrays() > 1 ? count : 0), *c = b + (arrays() > 2 ? count : 0);
    for (int pass = 0; pass <= PASSES; pass++) {
        pthread_barrier_wait(&barrier);
        worker->begin[pass] = now();
        for (size_t i = 0; i < repeats(); i++)
            sink = loop(a, b, c, count);
        worker->end[pass] = now();
    }
    return NULL;
}

/* GB/s of a pass: all bytes divided by the time from the first start to the last end. */
static double rate(const struct worker *workers, unsigned count, int pass)
{
    double begin = workers[0].begin[pass], end = workers[0].end[pass];
    for (unsigned i = 1; i < count; i++) {
        begin = workers[i].begin[pass] < begin ? workers[i].begin[pass] : begin;
        end = workers[i].end[pass] > end ? workers[i].end[pass] : end;
    }
    return (double)bytes * (double)repeats() * count / (end - begin) / 1e9;
}

int main(int argc, char **argv)
{
    static struct worker workers[CPUS_MAX];
    unsigned count = 0;
    if (argc == 5 && strcmp(argv[1], "chase") == 0)
        return chase(strtoull(argv[2], NULL, 10), strcmp(argv[3], "thp") == 0, atoi(argv[4]));
    if (argc != 4)
        return 2;
    for (char *at = strtok(argv[3], ","); at && count < CPUS_MAX; at = strtok(NULL, ","))
        workers[count++].cpu = atoi(at);
    kernel = argv[1];
    bytes = strtoull(argv[2], NULL, 10);
    pthread_barrier_init(&barrier, NULL, count);
    for (unsigned i = 0; i < count; i++)
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            return 3;
    for (unsigned i = 0; i < count; i++)
        pthread_join(workers[i].thread, NULL);
    double best = 0.0;
    for (int pass = 1; pass <= PASSES; pass++) /* the first pass is a warm-up */
        best = rate(workers, count, pass) > best ? rate(workers, count, pass) : best;
    printf("%.3f\n", best);
    return 0;
}
