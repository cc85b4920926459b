#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "kit/out.h"

#define LAST_RESORT "exclusive"

static char refusal[1200];
static const char *refused_path;

static void keep(const struct target *target, const char *name, const char *detail)
{
    if (refused_path && strncmp(refusal, LAST_RESORT ":", sizeof LAST_RESORT) != 0)
        return;
    if (refused_path && strcmp(refused_path, target->path) != 0)
        return;
    snprintf(refusal, sizeof refusal, "%s: %s", name, detail);
    refused_path = target->path;
}

void check(const struct target *target, const char *name, enum verdict verdict, const char *format, ...)
{
    char detail[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    struct out out = out_begin("check");
    out_text(&out, "path", target->path);
    out_text(&out, "name", name);
    if (verdict == UNKNOWN)
        out_null(&out, "ok");
    else
        out_bool(&out, "ok", verdict == SAFE);
    out_text(&out, "detail", detail);
    out_end();
    if (verdict == UNSAFE || (verdict == UNKNOWN && target->write))
        keep(target, name, detail);
}

const char *check_refusal(void)
{
    return refused_path ? refusal : NULL;
}

const char *check_refused_path(void)
{
    return refused_path;
}

void check_forget(void)
{
    refused_path = NULL;
}
