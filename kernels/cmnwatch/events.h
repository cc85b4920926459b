/* Events of performance monitors that count for the whole system, opened a few at a time. */
#ifndef CMNWATCH_EVENTS_H
#define CMNWATCH_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EVENTS_MAX 2048

/* What perf_event_open(2) is asked for: the monitor's type, the CPU that its events are opened on, and three words. */
struct event {
    uint32_t type;
    int on;
    uint64_t config, config1, config2;
    int fd;    /* -1 while it is not open */
    int error; /* why it cannot be opened, or 0 */
};

/* What an event has counted, and for how long it was enabled and did count (ns). */
struct reading {
    uint64_t value, enabled, running;
};

struct events {
    size_t count;
    struct event list[EVENTS_MAX];
};

/* Reads a file of lines `TYPE ON CONFIG CONFIG1 CONFIG2`, each decimal or 0x hexadecimal. Anything else ends the program with 2. */
void events_load(struct events *events, const char *path);

/* Opens each once and marks those that the monitor refuses. That the account may not watch at all, or that none can be opened, ends
 * the program with 3. */
void events_try(struct events *events);

/* Prints a line for each that was refused. */
void events_tell(const struct events *events);

/* Opens `count` events from the one at `first` on. One that cannot be opened now is left closed. */
void events_open(struct events *events, size_t first, size_t count);
void events_close(struct events *events, size_t first, size_t count);

struct reading event_read(const struct event *event);

/* What an event counted between two readings; -1 if it did not count all the time. */
int64_t event_counted(const struct event *event, const struct reading *before, const struct reading *after);

#endif
