/*
 * bill.h - the bill of materials of a machine: what was bought, counted from its document.
 *
 *   nodes, GPUs, NICs       of the nodes that the fabric was built for
 *   switches                by layer (leaf, spine, core, ...), with their ports
 *   cables                  by level, as orr_fabric_levels counts them
 *   optics                  transceivers: one at each end of a cable, none on the levels that
 *                           cluster.copper names
 *   scale-up switches       of domains that span nodes (node.scale-up-switches)
 *   storage servers
 *
 * The fabric's kind counts switches and cables (OrrFabricKind.bill) in closed form; nothing is
 * stored per switch. Layer 0 of a kind has the NICs' cables. A torus has no switches: its chips
 * are routers, so that it has neither NICs nor cables to a leaf.
 *
 * Not counted: cables inside a scale-up domain (NVL72's copper cartridges come with its rack), a
 * network of storage or management in addition to the fabric, spare parts, racks, people.
 */
#pragma once

#include "sim/base/diag.h"

typedef enum {
  ORR_BILL_NODE,
  ORR_BILL_GPU,
  ORR_BILL_NIC,
  ORR_BILL_SCALE_UP_SWITCH,
  ORR_BILL_SWITCH,
  ORR_BILL_CABLE,
  ORR_BILL_OPTIC,
  ORR_BILL_SERVER,
  ORR_N_BILL_KINDS
} OrrBillKind;

extern const char *const orr_bill_words[]; /* "node", "gpu", "nic", ..., NULL */

typedef struct {
  int kind;           /* OrrBillKind */
  char *layer;        /* "leaf" of a switch, "leaf-spine" of a cable; NULL: the kind has none */
  gint64 count;       /* pieces */
  gint64 ports;       /* of one switch; 0: not a switch */
  gint64 used;        /* ports of all switches of the layer that have a cable; 0: not a switch */
  double bytes_per_s; /* nominal rate of a NIC, a port or a cable, one direction; 0: it has none */
  gboolean copper;    /* a cable without optics */
} OrrBillItem;

typedef struct OrrBill {
  GArray *items; /* of OrrBillItem, in the order of OrrBillKind, layers from below */
} OrrBill;

typedef struct OrrFabric OrrFabric;

/* Of the whole machine, also where @fabric is a slice of it. */
OrrBill *orr_bill_new(const OrrFabric *fabric);
void orr_bill_free(OrrBill *bill);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrBill, orr_bill_free)

gint64 orr_bill_count(const OrrBill *bill, OrrBillKind kind); /* all layers together */
gint64 orr_bill_ports(const OrrBill *bill); /* ports of all switches that have a cable */

/* Adds a finding for each word of cluster.copper that does not name a level of cables. */
void orr_bill_check_copper(const OrrFabric *fabric, OrrPlace place, OrrDiags *diags);

/* The table of `orrery describe cluster`; newly allocated. */
char *orr_bill_text(const OrrBill *bill);

/* --- For the kinds of fabric --- */

enum { ORR_BILL_NO_SWITCH = -1 }; /* an end of a cable at a NIC or a chip */

/* Adds a layer of @count switches of @ports ports; returns its number, from 0. */
int orr_bill_add_switches(OrrBill *bill, const char *layer, gint64 count, gint64 ports);

/* Adds the cables of a level between layers @below and @above (may be one layer), and takes a
 * port of each for every cable. @bytes_per_s: nominal, one direction. */
void orr_bill_add_cables(OrrBill *bill, const char *level, int below, int above, gint64 count,
                         double bytes_per_s);
