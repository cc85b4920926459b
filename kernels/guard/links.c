#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "links.h"

void links_of(dev_t device, struct links *links)
{
    struct stat found;
    links->count = 0;
    DIR *dir = opendir(LINKS_FOLDER);
    for (struct dirent *entry; dir && links->count < LINKS_MAX && (entry = readdir(dir));) {
        char *path = links->paths[links->count];
        snprintf(path, sizeof links->paths[0], LINKS_FOLDER "%s", entry->d_name);
        links->count += stat(path, &found) == 0 && S_ISBLK(found.st_mode) && found.st_rdev == device;
    }
    if (dir)
        closedir(dir);
}

bool links_lasting(const char *path)
{
    static const char loop[] = "/dev/loop";
    const char *number = path + strlen(loop);
    if (strncmp(path, loop, strlen(loop)) == 0)
        return *number && number[strspn(number, "0123456789")] == '\0';
    return strncmp(path, LINKS_FOLDER, strlen(LINKS_FOLDER)) == 0;
}
