/*
 * fabric_private.h - the members of a fabric, for fabric*.c alone.
 */
#pragma once

#include "topologies/fabric.h"

/* Links inside a node that several GPUs share, in the order of their numbers (fabric_host.c). */
typedef enum {
  ORR_HOST_SWITCH,
  ORR_HOST_BRIDGE,
  ORR_HOST_SOCKET,
  ORR_HOST_SLOT,
  ORR_N_HOST_LINKS
} OrrHostLink;

struct OrrFabric {
  gint64 *gpu_of;    /* of a slice: its GPUs' numbers in the machine; NULL: not a slice */
  gint64 n_slice;    /* GPUs of the slice */
  double taken;      /* fraction of switches' links that others have; 0: none */
  gboolean is_view;  /* the plan belongs to another fabric */
  GHashTable *avoid; /* links that routes avoid; NULL: none */
  GHashTable *left;  /* link -> double: the fraction of its bandwidth that is left; NULL: all */
  const OrrCluster *cluster;
  const OrrFabricKind *kind;
  gpointer plan; /* NULL without NICs */
  guint64 seed;
  gint64 n_gpus;       /* of the job's nodes */
  gint64 n_ports;      /* fabric ports of these GPUs */
  gint64 gpus_per_nic; /* GPUs that share one NIC; 1 if a GPU has one or more */
  gint64 lanes;        /* fabric ports of a GPU, or of the GPUs that share a NIC */
  gint64 host_base, inside_base[ORR_N_HOST_LINKS], nic_base, net_base, storage_base; /* first ids */
  gint64 memory_base; /* first id of the memory links, which come last */
  gint64 server_port; /* port of storage server 0, if servers are attached to the fabric */
  gint64 n_links;
  OrrFabricNotes *notes; /* shared with its views */
};

/* The port number @lane of a GPU of the machine. */
static inline gint64 orr_fabric_port(const OrrFabric *fabric, gint64 gpu, gint64 lane) {
  return gpu / fabric->gpus_per_nic * fabric->lanes + lane;
}

/* Fractions of nominal * efficiency that NICs and links between switches reach (transport.h). */
double orr_fabric_nic_fraction(const OrrFabric *fabric);
double orr_fabric_switch_fraction(const OrrFabric *fabric);

/* fabric_host.c. GPU numbers are the machine's. Numbers the links from @base and returns the
 * next free id. */
gint64 orr_fabric_number_host_links(OrrFabric *fabric, gint64 base);
double orr_fabric_host_link_bandwidth(const OrrFabric *fabric, gint64 link);
char *orr_fabric_host_link_name(const OrrFabric *fabric, gint64 link);

/* Append the links between a GPU and its port, outbound (exit) and inbound (entry); between host
 * memory and the port (@back: towards memory); and between two GPUs of a node that communicate
 * over PCIe, including their own PCIe links. */
void orr_fabric_append_exit(const OrrFabric *fabric, gint64 gpu, gint64 port, GArray *links);
void orr_fabric_append_entry(const OrrFabric *fabric, gint64 gpu, gint64 port, GArray *links);
void orr_fabric_append_memory(const OrrFabric *fabric, gint64 gpu, gint64 port, gboolean back,
                              GArray *links);
void orr_fabric_append_peer(const OrrFabric *fabric, gint64 src, gint64 dst, GArray *links);

/* fabric_memory.c: one link per node. */
gint64 orr_fabric_n_memory_links(const OrrFabric *fabric);
double orr_fabric_memory_bandwidth(const OrrFabric *fabric);

/* fabric_storage.c: links are numbered from storage_base. */
gint64 orr_fabric_n_storage_links(const OrrFabric *fabric);
double orr_fabric_storage_link_bandwidth(const OrrFabric *fabric, gint64 link);
char *orr_fabric_storage_link_name(const OrrFabric *fabric, gint64 link);

/* Appends the route from a GPU of the machine to a fabric port that belongs to no GPU, or back:
 * the GPU's NIC and the switches between. */
double orr_fabric_route_to_port(const OrrFabric *fabric, gint64 gpu, gint64 port, gboolean back,
                                GArray *links);
