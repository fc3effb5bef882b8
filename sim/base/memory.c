/*
 * memory.c - asks the kernel how much memory there is. Control groups (version 2) limit containers
 * and batch jobs: /sys/fs/cgroup/memory.max has their bytes, or "max".
 */
#include "sim/base/memory.h"

#include <unistd.h>

#define GROUP_LIMIT "/sys/fs/cgroup/memory.max"

static double limit_set; /* 0: none */

static double of_group(void) {
  g_autofree char *text = NULL;
  if (!g_file_get_contents(GROUP_LIMIT, &text, NULL, NULL)) return G_MAXDOUBLE;
  char *end = text;
  const double bytes = g_ascii_strtod(text, &end);
  return end == text || bytes <= 0 ? G_MAXDOUBLE : bytes;
}

double orr_memory_of_machine(void) {
  const double all = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  return MIN(all, of_group());
}

double orr_memory_limit(void) {
  return limit_set > 0 ? limit_set : ORR_MEMORY_SHARE * orr_memory_of_machine();
}

void orr_memory_set_limit(double bytes) { limit_set = bytes; }
