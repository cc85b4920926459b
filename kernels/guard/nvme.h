/* The responses of an NVMe drive, as specified in NVM Express Base 2.0. */
#ifndef NVME_H
#define NVME_H

#include "kit/out.h"
#include "target.h"

/* The members `nvme_id_ctrl`, `nvme_id_ns`, `nvme_smart`: hexadecimal, null if the drive is not NVMe or does not respond. */
void nvme_print(struct out *out, dev_t disk);

/* The check `namespaces`: other namespaces on the drive. With `whole_drive`, the program would change them as well. */
void nvme_check_namespaces(const struct target *target, bool whole_drive);

/* The check `reserved`: a reservation by another host. */
void nvme_check_reserved(const struct target *target);

#endif
