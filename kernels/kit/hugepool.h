/* Pages that are added to the pools of huge pages for the life of this process, and are removed again however the process ends.
 *
 * A small child process, the guardian, adds the pages and records how many it added. It leads a separate session and waits for its
 * socket to close, which happens when this process ends for any reason, including SIGKILL, and after its memory has been released.
 * The guardian changes a pool relative to its current size, so that changes made by other processes are preserved. It is started
 * before the first page is added. It does not keep arenas alive, because they are not inherited (MADV_DONTFORK).
 *
 * If pages in use are removed from a pool, they become surplus pages. They disappear once they are free, unless the pool grows
 * first, which makes them persistent again. nr_hugepages also counts surplus pages, so the guardian records by how much the number
 * of persistent pages has grown. */
#ifndef KIT_HUGEPOOL_H
#define KIT_HUGEPOOL_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kit/sysfile.h"

#define HUGEPOOL_ACCOUNTS_MAX 128 /* pools that one process adds to: page sizes times nodes */
#define HUGEPOOL_PATH_MAX 128
#define HUGEPOOL_TURNS_MAX 16 /* maximum number of turns, because pages that become free in the meantime may become surplus again */

/* A request to add `pages`, or to remove them if negative. Node -1 is the whole system. */
struct hugepool_request {
    int64_t page_bytes, node, pages, patience_ms;
};

struct hugepool_reply {
    int64_t before;  /* pages in the pool */
    int64_t changed; /* persistent pages added, at least as many as requested or none; negative for removed ones */
    bool done;
};

/* The socket to the guardian, 0 before it is started, and the guardian's process. All files of the program that include this
 * header share these two variables. */
__attribute__((weak)) int hugepool_socket;
__attribute__((weak)) pid_t hugepool_guardian;

static inline void hugepool_path(char *path, const char *file, int64_t page_bytes, int64_t node)
{
    int kb = (int)(page_bytes >> 10);
    if (node < 0)
        snprintf(path, HUGEPOOL_PATH_MAX, "/sys/kernel/mm/hugepages/hugepages-%dkB/%s", kb, file);
    else
        snprintf(path, HUGEPOOL_PATH_MAX, "/sys/devices/system/node/node%d/hugepages/hugepages-%dkB/%s", (int)node, kb, file);
}

/* Reads a number of the pool; -1 if there is no such pool. */
static inline int64_t hugepool_number(const char *file, int64_t page_bytes, int64_t node)
{
    char path[HUGEPOOL_PATH_MAX], text[32];
    hugepool_path(path, file, page_bytes, node);
    sysfile_text(text, sizeof text, "%s", path);
    return *text ? strtoll(text, NULL, 10) : -1;
}

/* Returns the number of free pages that no mapping has reserved, on the given node if there is one; -1 if the system has no such
 * pages. */
static inline int64_t hugepool_free(int64_t page_bytes, int64_t node)
{
    int64_t pages, reserved, again = hugepool_number("free_hugepages", page_bytes, -1);
    do { /* a page that is populated between both readings would be counted as free, but no longer as reserved */
        pages = again;
        reserved = hugepool_number("resv_hugepages", page_bytes, -1);
        again = hugepool_number("free_hugepages", page_bytes, -1);
    } while (again != pages);
    if (pages < 0)
        return -1;
    pages -= reserved;
    int64_t there = node < 0 ? pages : hugepool_number("free_hugepages", page_bytes, node);
    return there < pages ? there : pages;
}

/* Persistent pages of the pool, which stay when they are free. */
static inline int64_t hugepool_lasting(int64_t page_bytes, int64_t node)
{
    return hugepool_number("nr_hugepages", page_bytes, node) - hugepool_number("surplus_hugepages", page_bytes, node);
}

/* 0, or the reason why this account cannot change the pool. */
static inline int hugepool_refusal(int64_t page_bytes, int64_t node)
{
    char path[HUGEPOOL_PATH_MAX];
    hugepool_path(path, "nr_hugepages", page_bytes, node);
    return access(path, W_OK) == 0 ? 0 : errno;
}

static inline void hugepool_set(int64_t page_bytes, int64_t node, int64_t pages)
{
    char path[HUGEPOOL_PATH_MAX];
    hugepool_path(path, "nr_hugepages", page_bytes, node);
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file >= 0) {
        dprintf(file, "%lld\n", (long long)(pages > 0 ? pages : 0));
        close(file);
    }
}

/* Takes the lock that is held from counting free pages until they are mapped. Otherwise, two processes that change the pool at the
 * same time could lose pages, or map each other's pages. Closing the descriptor releases the lock. */
static inline int hugepool_lock(int64_t page_bytes)
{
    char path[HUGEPOOL_PATH_MAX];
    hugepool_path(path, "nr_hugepages", page_bytes, -1);
    int lock = open(path, O_RDONLY | O_CLOEXEC);
    if (lock >= 0)
        flock(lock, LOCK_EX);
    return lock;
}

/* Changes the pool in a process that is killed when the time limit is reached, because the system may compact memory for a long
 * time, and only SIGKILL interrupts this. */
static inline void hugepool_set_within(const struct hugepool_request *request, int64_t pages)
{
    pid_t writer = fork();
    if (writer == 0) {
        hugepool_set(request->page_bytes, request->node, pages);
        _exit(0);
    }
    for (int64_t ms = 0; writer > 0 && waitpid(writer, NULL, WNOHANG) == 0; ms++) {
        nanosleep(&(struct timespec){0, 1000000}, NULL);
        if (ms == request->patience_ms)
            kill(writer, SIGKILL);
    }
}

/* Adds all pages, or none. The caller holds the lock. */
static inline struct hugepool_reply hugepool_add(const struct hugepool_request *request)
{
    int64_t before = hugepool_number("nr_hugepages", request->page_bytes, request->node);
    int64_t lasted = hugepool_lasting(request->page_bytes, request->node);
    hugepool_set_within(request, before + request->pages);
    int64_t lasting = hugepool_lasting(request->page_bytes, request->node);
    bool done = lasting >= before + request->pages;
    if (!done && lasting > lasted)
        hugepool_set(request->page_bytes, request->node, lasted);
    return (struct hugepool_reply){before, done ? lasting - lasted : 0, done};
}

/* Returns the number of surplus pages that are not in use. They exist because the Linux kernel counts the pages in use, releases
 * its lock, and then makes that number of pages surplus: a page that becomes free in between stays in the pool. */
static inline int64_t hugepool_stranded(int64_t page_bytes, int64_t node)
{
    int64_t surplus = hugepool_number("surplus_hugepages", page_bytes, node), unused = hugepool_free(page_bytes, node);
    return surplus < unused ? surplus : unused;
}

/* Removes pages from the pool. Pages in use are released when they become free; unused surplus pages are made persistent first,
 * because the Linux kernel removes only those. The caller holds the lock. */
static inline struct hugepool_reply hugepool_subtract(int64_t page_bytes, int64_t node, int64_t pages)
{
    int64_t before = hugepool_lasting(page_bytes, node), rest = before > pages ? before - pages : 0, stranded;
    hugepool_set(page_bytes, node, rest);
    for (int turn = 0; turn < HUGEPOOL_TURNS_MAX && (stranded = hugepool_stranded(page_bytes, node)) > 0; turn++) {
        hugepool_set(page_bytes, node, rest + stranded);
        hugepool_set(page_bytes, node, rest);
    }
    return (struct hugepool_reply){before, -pages, hugepool_lasting(page_bytes, node) <= rest};
}

/* Executes a request, records the balance in `accounts`, and returns the reply. */
static inline struct hugepool_reply hugepool_serve(const struct hugepool_request *request, struct hugepool_request *accounts)
{
    struct hugepool_reply reply = {-1, 0, false};
    struct hugepool_request *account = accounts, *end = accounts + HUGEPOOL_ACCOUNTS_MAX;
    while (account < end && account->page_bytes && !(account->page_bytes == request->page_bytes && account->node == request->node))
        account++;
    if (account == end)
        return reply;
    *account = (struct hugepool_request){request->page_bytes, request->node, account->pages, 0};
    reply = request->pages > 0 ? hugepool_add(request) : hugepool_subtract(request->page_bytes, request->node, -request->pages);
    account->pages += reply.changed;
    return reply;
}

/* The main function of the guardian. */
__attribute__((noreturn)) static inline void hugepool_guard(int socket)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    static struct hugepool_request accounts[HUGEPOOL_ACCOUNTS_MAX];
    struct hugepool_request request;
    setsid();
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++) /* otherwise, a reader of this program's output would wait until the guardian ends */
        dup2(null, fd);
    for (int fd = 3; fd < 1024; fd++) /* not the inherited descriptors: they keep the host locked until the pages are removed */
        if (fd != socket && (fcntl(fd, F_GETFD) & FD_CLOEXEC))
            close(fd);
    while (recv(socket, &request, sizeof request, 0) == sizeof request) {
        struct hugepool_reply reply = hugepool_serve(&request, accounts);
        send(socket, &reply, sizeof reply, 0);
    }
    for (size_t i = 0; i < HUGEPOOL_ACCOUNTS_MAX; i++)
        if (accounts[i].pages > 0) {
            int lock = hugepool_lock(accounts[i].page_bytes);
            hugepool_subtract(accounts[i].page_bytes, accounts[i].node, accounts[i].pages);
            close(lock);
        }
    _exit(0);
}

/* Waits for the guardian when this process exits by itself. Its CPU time (adding a GiB of pages takes more than 0.1 s) is then
 * part of the time of this process; otherwise a reader of the host's counters would take it for another program. In a child
 * that was forked since, this does nothing. */
static inline void hugepool_end(void)
{
    close(hugepool_socket);
    waitpid(hugepool_guardian, NULL, 0);
}

static inline bool hugepool_start(void)
{
    int pair[2];
    if (hugepool_socket > 0)
        return true;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return false;
    pid_t guardian = fork();
    if (guardian == 0) {
        close(pair[0]);
        hugepool_guard(pair[1]);
    }
    close(pair[1]);
    if (guardian > 0) {
        hugepool_socket = pair[0];
        hugepool_guardian = guardian;
        atexit(hugepool_end);
    } else {
        close(pair[0]);
    }
    return guardian > 0;
}

/* Adds `pages` to a pool within `patience_ms`, or removes them if negative. Called by one thread at a time, which holds the
 * lock. */
static inline struct hugepool_reply hugepool_change(int64_t page_bytes, int64_t node, int64_t pages, int64_t patience_ms)
{
    struct hugepool_request request = {page_bytes, node, pages, patience_ms};
    struct hugepool_reply reply = {-1, 0, false};
    if (!hugepool_start() || send(hugepool_socket, &request, sizeof request, MSG_NOSIGNAL) != sizeof request ||
        recv(hugepool_socket, &reply, sizeof reply, 0) != sizeof reply)
        reply.done = false;
    return reply;
}

#endif
