#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "events.h"
#include "kit/fail.h"
#include "kit/out.h"

static bool take(struct event *event, char *line)
{
    uint64_t words[5];
    char *end = line;
    for (size_t i = 0; i < 5; i++) {
        char *begin = end + strspn(end, " ");
        if (*begin < '0' || *begin > '9')
            return false;
        errno = 0;
        words[i] = strtoull(begin, &end, 0);
        if (errno != 0 || (*end != ' ' && *end != '\n' && *end != '\0'))
            return false;
    }
    if (end[strspn(end, " \n")] != '\0' || words[0] > UINT32_MAX || words[1] > INT32_MAX)
        return false;
    *event = (struct event){(uint32_t)words[0], (int)words[1], words[2], words[3], words[4], -1, 0};
    return true;
}

void events_load(struct events *events, const char *path)
{
    char line[256];
    FILE *file = fopen(path, "re");
    if (!file)
        fail(EXIT_USAGE, "--events: %s cannot be read: %s", path, strerror(errno));
    while (fgets(line, sizeof line, file)) {
        if (events->count == EVENTS_MAX)
            fail(EXIT_USAGE, "--events: more than %d events", EVENTS_MAX);
        if (!take(&events->list[events->count++], line))
            fail(EXIT_USAGE, "--events: line %zu of %s is not TYPE ON CONFIG CONFIG1 CONFIG2", events->count, path);
    }
    fclose(file);
    if (events->count == 0)
        fail(EXIT_USAGE, "--events: %s lists no event", path);
}

static void open_one(struct event *event)
{
    struct perf_event_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.size = sizeof attr;
    attr.type = event->type;
    attr.config = event->config;
    attr.config1 = event->config1;
    attr.config2 = event->config2;
    attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    event->fd = (int)syscall(SYS_perf_event_open, &attr, -1, event->on, -1, PERF_FLAG_FD_CLOEXEC);
    event->error = event->fd < 0 ? errno : 0;
}

__attribute__((noreturn)) static void refuse(int error)
{
    if (error == EACCES || error == EPERM)
        fail(EXIT_ENVIRONMENT, "this account cannot count events of the whole system: run it as root, or set "
             "kernel.perf_event_paranoid to 0 or below");
    fail(EXIT_ENVIRONMENT, "no event can be opened: %s", strerror(error));
}

void events_try(struct events *events)
{
    size_t usable = 0;
    for (size_t i = 0; i < events->count; i++) {
        struct event *event = &events->list[i];
        open_one(event);
        if (event->fd >= 0) {
            events_close(events, i, 1);
            usable++;
        } else if (event->error == EACCES || event->error == EPERM) {
            refuse(event->error);
        }
    }
    if (usable == 0)
        refuse(events->list[0].error);
}

void events_tell(const struct events *events)
{
    for (size_t i = 0; i < events->count; i++) {
        if (events->list[i].error == 0)
            continue;
        struct out out = out_begin("sample");
        out_integer(&out, "event", (int64_t)i);
        out_text(&out, "error", strerror(events->list[i].error));
        out_end();
    }
}

void events_open(struct events *events, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++)
        if (events->list[i].error == 0)
            open_one(&events->list[i]);
}

void events_close(struct events *events, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++) {
        if (events->list[i].fd >= 0)
            close(events->list[i].fd);
        events->list[i].fd = -1;
    }
}

struct reading event_read(const struct event *event)
{
    struct reading reading = {0, 0, 0};
    if (event->fd >= 0 && read(event->fd, &reading, sizeof reading) != sizeof reading)
        reading = (struct reading){0, 0, 0};
    return reading;
}

int64_t event_counted(const struct event *event, const struct reading *before, const struct reading *after)
{
    uint64_t enabled = after->enabled - before->enabled, running = after->running - before->running;
    if (event->fd < 0 || running == 0 || running != enabled)
        return -1;
    return (int64_t)(after->value - before->value);
}
