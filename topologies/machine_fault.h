/*
 * machine_fault.h - what can go wrong with a machine, as harm to its parts.
 *
 * A kind of fault is an entry: from its parameters it tells which links lose how much of their
 * bandwidth, which GPUs are slow, which nodes are gone. When that happens, and for how long, is the
 * scenario's business (sim/run/faults/faults.h).
 *
 * To add one: write topologies/faults/NAME.c with one const OrrMachineFaultKind, add it to the
 * array in machine_fault.c and to meson.build. tests/topologies/test_machine_fault.c holds all to
 * the same rules.
 */
#ifndef ORR_MACHINE_FAULT_H
#define ORR_MACHINE_FAULT_H

#include "sim/base/random.h"
#include "topologies/fabric.h"

G_BEGIN_DECLS

typedef enum { ORR_HARM_LINK, ORR_HARM_GPU, ORR_HARM_NODE } OrrHarmKind;

typedef struct {
  OrrHarmKind kind;
  gint64 index; /* fabric link, GPU or node of the machine */
  /* LINK: share of its bandwidth that is gone; GPU: kernels take 1 + loss times as long; NODE:
   * unused */
  double loss;
} OrrHarm;

typedef struct {
  const OrrCluster *cluster;
  const OrrFabric *fabric; /* the machine's */
  OrrRandom *random; /* what the document does not name is drawn from it; NULL: it must name all */
} OrrMachineFaultAsk;

typedef struct {
  OrrEntry entry;
  /* Appends to @harms (of OrrHarm); *@ret_what is what results call it, newly allocated.
   * ORR_FAULT_DOCUMENT where a part does not exist. */
  gboolean (*strike)(const void *params, const OrrMachineFaultAsk *ask, GArray *harms,
                     char **ret_what, GError **error);
} OrrMachineFaultKind;

extern const OrrRegistry orr_machine_fault_registry;

gboolean orr_machine_fault_strike(const OrrChoice *choice, const OrrMachineFaultAsk *ask,
                                  GArray *harms, char **ret_what, GError **error);

/* For entries: @number, or where that is -1 one below @n that is drawn. FALSE where it is
 * neither. @what: "GPU". */
gboolean orr_machine_fault_pick(const OrrMachineFaultAsk *ask, const char *what, gint64 number,
                                gint64 n, gint64 *ret_number, GError **error);

/* Fields that entries share: a `gpu` (-1: drawn) and what is left of a `bandwidth`. */
#define ORR_MACHINE_FAULT_GPU(type_, what_)                                                        \
  {                                                                                                \
    .name = "gpu", .kind = ORR_FIELD_INT, .offset = offsetof(type_, gpu), .fallback = "-1",        \
    .min = -1, .max = 1e9, .sentence = what_                                                       \
  }
#define ORR_MACHINE_FAULT_BANDWIDTH(type_, what_)                                                  \
  {                                                                                                \
    .name = "bandwidth", .kind = ORR_FIELD_REAL, .offset = offsetof(type_, bandwidth),             \
    .unit = ORR_UNIT_FRACTION, .fallback = "0", .min = 0, .max = 1, .sentence = what_              \
  }

/* For entries: every part of @parts (of OrrFabricPart; consumed) loses @loss of its share. */
void orr_machine_fault_add_links(GArray *harms, GArray *parts, double loss);

G_END_DECLS

#endif
