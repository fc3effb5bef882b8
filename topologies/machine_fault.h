/*
 * machine_fault.h - what can go wrong with a machine: faults, and their effects on its parts.
 *
 * A kind of fault is an entry. From its parameters it determines which links lose how much of their
 * bandwidth, which GPUs are slow, and which nodes are lost. The scenario determines when a fault
 * strikes and for how long (sim/run/faults/faults.h).
 *
 * To add one: write topologies/faults/NAME.c with one const OrrMachineFaultKind and its line in
 * meson.build. tests/topologies/test_machine_fault.c holds all to the same rules.
 */
#pragma once

#include "sim/base/random.h"
#include "topologies/fabric.h"

typedef enum {
  ORR_FAULT_EFFECT_LINK,
  ORR_FAULT_EFFECT_GPU,
  ORR_FAULT_EFFECT_NODE
} OrrFaultEffectKind;

typedef struct {
  OrrFaultEffectKind kind;
  gint64 index; /* fabric link, GPU or node of the machine */
  /* LINK: the fraction of its bandwidth that is lost; GPU: kernels take 1 + loss times as long;
   * NODE: unused */
  double loss;
} OrrFaultEffect;

/* The machine that a fault strikes. */
typedef struct {
  const OrrCluster *cluster;
  const OrrFabric *fabric;
  OrrRandom *random; /* draws what the document does not name; NULL: it must name everything */
} OrrFaultTarget;

typedef struct {
  OrrEntry entry;
  /* Mandatory: strike. Other functions may be NULL. */
  /* Appends to @effects (of OrrFaultEffect). *@ret_what is the outage's name in results, newly
   * allocated. ORR_FAULT_DOCUMENT where a part does not exist. */
  gboolean (*strike)(const void *params, const OrrFaultTarget *target, GArray *effects,
                     char **ret_what, GError **error);
} OrrMachineFaultKind;

extern const OrrRegistry orr_machine_fault_registry;

gboolean orr_machine_fault_strike(const OrrChoice *choice, const OrrFaultTarget *target,
                                  GArray *effects, char **ret_what, GError **error);

/* For entries: *@ret_number is @number, or, where that is -1, a number below @n drawn from the
 * target's random stream. FALSE where @number is not below @n, or cannot be drawn. @what names the
 * part in messages: "GPU". */
gboolean orr_machine_fault_pick(const OrrFaultTarget *target, const char *what, gint64 number,
                                gint64 n, gint64 *ret_number, GError **error);

/* Fields that entries share: `gpu` (-1: drawn) and `bandwidth`, the fraction that is left. */
#define ORR_MACHINE_FAULT_GPU(type_, what_)                                                        \
  ORR_FIELD_INT(type_, "gpu", gpu, "-1", what_, .min = -1, .max = 1e9)
#define ORR_MACHINE_FAULT_BANDWIDTH(type_, what_)                                                  \
  ORR_FIELD_REAL(type_, "bandwidth", bandwidth, ORR_UNIT_FRACTION, "0", what_, .min = 0, .max = 1)

/* For entries: each cable of @parts (of OrrFabricPart; consumed) loses @loss of its bandwidth; its
 * link loses the cable's fraction of that. */
void orr_machine_fault_add_links(GArray *effects, GArray *parts, double loss);
