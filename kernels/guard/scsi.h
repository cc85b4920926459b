/* Persistent reservations of SCSI devices. */
#ifndef SCSI_H
#define SCSI_H

#include "target.h"

/* The check `reserved` for a device that is not NVMe. */
void scsi_check_reserved(const struct target *target);

#endif
