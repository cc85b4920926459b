/* What each look at a target says, in its line; the first that refuses is kept. */
#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>

#include "target.h"

enum verdict { UNKNOWN = -1, UNSAFE = 0, SAFE = 1 };

/* Prints the line of a check. A target that is written is refused by UNSAFE and UNKNOWN, one that is read by UNSAFE. */
__attribute__((format(printf, 4, 5))) void check(const struct target *target, const char *name, enum verdict verdict,
                                                 const char *format, ...);

/* The first refusal as `<check>: <why>`; NULL if there is none. That a device is busy comes last: others say by what. */
const char *check_refusal(void);

/* The path of the target that it is about. */
const char *check_refused_path(void);

/* Forgets it: for a look at every device. */
void check_forget(void);

#endif
