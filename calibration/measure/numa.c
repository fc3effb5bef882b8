/*
 * numa.c - reads the NUMA node of a PCI device from sysfs and binds pages to it.
 */
#include "calibration/measure/numa.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
  MODE_PREFERRED = 1, /* MPOL_PREFERRED of linux/mempolicy.h */
  MOST_NODES = 1024,
  LEAST_PAGE = 4096
};

int orr_numa_node(const char *sysfs, const char *bus) {
  g_autofree char *name = g_ascii_strdown(bus, -1),
                  *text = NULL; /* sysfs writes hexadecimal in lower case */
  g_autofree char *path = g_build_filename(sysfs, "bus", "pci", "devices", name, "numa_node", NULL);
  gint64 node = -1;
  if (!g_file_get_contents(path, &text, NULL, NULL)) return -1;
  g_strstrip(text);
  return g_ascii_string_to_signed(text, 10, 0, MOST_NODES - 1, &node, NULL) ? (int)node : -1;
}

static void prefer(void *memory, gsize bytes, int node) {
#ifdef SYS_mbind
  enum { BITS = 8 * sizeof(unsigned long) };
  unsigned long mask[MOST_NODES / BITS] = {0};
  mask[node / BITS] = 1ul << (node % BITS);
  (void)syscall(SYS_mbind, memory, bytes, MODE_PREFERRED, mask, (unsigned long)MOST_NODES,
                0); /* the call may be forbidden */
#else
#endif
}

void *orr_numa_alloc(gsize bytes, int node) {
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  if (node >= 0) prefer(memory, bytes, node);
#ifdef MADV_HUGEPAGE
  madvise(memory, bytes, MADV_HUGEPAGE); /* may be forbidden; each page is a fault of its own */
#endif
  for (gsize i = 0; i < bytes; i += LEAST_PAGE) ((volatile char *)memory)[i] = 0; /* allocates it */
  return memory;
}

void orr_numa_free(void *memory, gsize bytes) {
  if (memory) munmap(memory, bytes);
}
