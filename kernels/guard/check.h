/* The result of each check of a target, printed as a line; the first refusal is stored. */
#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>

#include "target.h"

enum verdict { UNKNOWN = -1, UNSAFE = 0, SAFE = 1 };

/* Prints the line for a check. UNSAFE causes any target to be refused; UNKNOWN causes only a target to be written to be refused. */
__attribute__((format(printf, 4, 5))) void check(const struct target *target, const char *name, enum verdict verdict,
                                                 const char *format, ...);

/* The first refusal as `<check>: <reason>`; NULL if there is none. A refusal by `exclusive` is returned only if there is no other,
 * because the other checks identify who uses the target. */
const char *check_refusal(void);

/* The path of the refused target. */
const char *check_refused_path(void);

/* Discards the refusal, for a scan of all devices. */
void check_forget(void);

#endif
