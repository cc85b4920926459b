/* Events of system-wide performance monitors, a few of which are open at a time. */
#ifndef CMNWATCH_EVENTS_H
#define CMNWATCH_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EVENTS_MAX 2048

/* The arguments of perf_event_open(2): the type of the monitor, the CPU on which its events are opened, and three configuration
 * words. */
struct event {
    uint32_t type;
    int on;
    uint64_t config, config1, config2;
    int fd;    /* -1 while it is not open */
    int error; /* why it cannot be opened, or 0 */
};

/* The count of an event, and the times in nanoseconds for which it was enabled and actually counted. */
struct reading {
    uint64_t value, enabled, running;
};

struct events {
    size_t count;
    struct event list[EVENTS_MAX];
};

/* Reads a file with lines `TYPE ON CONFIG CONFIG1 CONFIG2`, in which each number is decimal or, after 0x, hexadecimal. Ends the
 * program with 2 if the file contains anything else. */
void events_load(struct events *events, const char *path);

/* Opens each event once and marks those that the monitor rejects. Ends the program with 3 if the account lacks permission to
 * monitor or if no event can be opened. */
void events_try(struct events *events);

/* Prints a line for each event that was rejected. */
void events_tell(const struct events *events);

/* Opens `count` events starting at `first`. An event that cannot be opened now stays closed. */
void events_open(struct events *events, size_t first, size_t count);
void events_close(struct events *events, size_t first, size_t count);

struct reading event_read(const struct event *event);

/* Returns the count of an event between two readings, or -1 if the event was not counted for the whole time. */
int64_t event_counted(const struct event *event, const struct reading *before, const struct reading *after);

#endif
