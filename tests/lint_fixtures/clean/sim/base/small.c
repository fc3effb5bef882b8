/*
 * small.c - a source that breaks no rule of the lint.
 */
#include "sim/base/small.h"

/* What a comment says is not code: printf(), exit(), goto end. */
gint64 orr_small(gint64 a) {
  const char *text = "printf(\"x\"); exit(1); goto end; /* no comment";
  g_autofree char *copy = g_strdup_printf("%s", text);
  return copy ? a : 0;
}
