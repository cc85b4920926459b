/* Exit codes of every kernel, and the function that ends it early with a line on stderr. */
#ifndef KIT_FAIL_H
#define KIT_FAIL_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum exit_code { EXIT_USAGE = 2, EXIT_ENVIRONMENT = 3, EXIT_SELF_CHECK = 4 };

/* Prints the message after the program's name and ends with `code`. */
__attribute__((noreturn, format(printf, 2, 3))) static inline void fail(enum exit_code code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(code);
}

#endif
