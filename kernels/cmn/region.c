#include "region.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kit/fail.h"

static const volatile uint8_t *mapped;
static uint64_t mapped_bytes;
static sigjmp_buf answered;

/* Handles a bus error during a read. On arm64, it is a synchronous external abort, which the Linux kernel delivers as SIGBUS. */
static void on_bus_error(int signal)
{
    (void)signal;
    siglongjmp(answered, 1);
}

/* Source: Linux, drivers/char/mem.c. A Linux kernel in lockdown mode does not allow anyone to open /dev/mem. Ranges that
 * CONFIG_STRICT_DEVMEM and CONFIG_IO_STRICT_DEVMEM reserve for the Linux kernel and its drivers cannot be mapped. Both cases result
 * in EPERM. */
static const char *why(void)
{
    if (errno != EPERM)
        return strerror(errno);
    return "the Linux kernel denies access to these registers (CONFIG_IO_STRICT_DEVMEM or lockdown): unload the driver that uses "
           "them (modprobe -r arm_cmn), or boot with iomem=relaxed and without lockdown; the map in debugfs shows the topology as "
           "well";
}

static void map(int file, uint64_t base, uint64_t size, const char *name)
{
    struct sigaction action = {0};
    void *at = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, file, (off_t)base);
    if (at == MAP_FAILED)
        fail(EXIT_ENVIRONMENT, "%s cannot be mapped: %s", name, why());
    close(file);
    mapped = at;
    mapped_bytes = size;
    action.sa_handler = on_bus_error;
    sigaction(SIGBUS, &action, NULL);
}

void region_map(uint64_t base, uint64_t size)
{
    if (geteuid() != 0)
        fail(EXIT_ENVIRONMENT, "only root can read registers through /dev/mem");
    int file = open("/dev/mem", O_RDONLY | O_SYNC | O_CLOEXEC);
    if (file < 0)
        fail(EXIT_ENVIRONMENT, "/dev/mem cannot be opened: %s", why());
    map(file, base, size, "/dev/mem");
}

void region_map_file(const char *path, uint64_t size)
{
    struct stat found;
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* otherwise, opening a pipe would wait for a writer */
    if (file < 0 || fstat(file, &found) != 0)
        fail(EXIT_ENVIRONMENT, "%s cannot be read: %s", path, strerror(errno));
    if (!S_ISREG(found.st_mode) || found.st_size == 0)
        fail(EXIT_ENVIRONMENT, "%s is not a register image: it is empty, or not a file", path);
    bool whole = size == 0 || (uint64_t)found.st_size < size;
    map(file, 0, whole ? (uint64_t)found.st_size : size, path);
}

bool region_read(uint64_t offset, unsigned width, uint64_t *value)
{
    *value = 0;
    if (offset % width != 0 || offset > mapped_bytes || mapped_bytes - offset < width)
        return false;
    if (sigsetjmp(answered, 1) != 0)
        return false;
    if (width == 4)
        *value = *(const volatile uint32_t *)(mapped + offset);
    else
        *value = *(const volatile uint64_t *)(mapped + offset);
    return true;
}
