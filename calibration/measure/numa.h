/*
 * numa.h - host memory on the NUMA node of a PCI device.
 *
 * A copy between a GPU and pinned memory of the other socket crosses the link between sockets and
 * measures that link. sysfs names the node of a GPU (Documentation/ABI/testing/sysfs-bus-pci:
 * numa_node; -1: the platform does not state it). mbind(2) binds pages before they are touched; the
 * driver then pins them where they are. The system call is made without libnuma.
 */
#pragma once

#include "sim/base/ground.h"

/* The node of the device at @bus ("0000:1B:00.0", as CUDA writes it), -1 where it is not known.
 * @sysfs: "/sys". */
int orr_numa_node(const char *sysfs, const char *bus);

/* @bytes of zeroed memory on @node, or anywhere where it is -1 or the kernel refuses; NULL:
 * there is none. */
void *orr_numa_alloc(gsize bytes, int node);
void orr_numa_free(void *memory, gsize bytes);
