/*
 * pass_time.h - what a forward pass or an update over ragged samples takes.
 *
 * Samples are dealt to the dp replicas of the trainer and packed into micro-batches of at most S
 * tokens. A step of m micro-batches takes
 *
 *   t(m) = fixed + m each,    m = max over replicas  tokens / S         (packed)
 *                                                    sequences / micro  (padded: each as long as
 *                                                                        the longest)
 *
 * where fixed (gradients, optimizer, the pipeline's ends) and each come from two replays. A replica
 * waits for the one with the most tokens.
 */
#ifndef ORR_PASS_TIME_H
#define ORR_PASS_TIME_H

#include "calibration/cost/cost_energy.h"

G_BEGIN_DECLS

/* How samples are dealt: as they come, or longest first to the replica with the fewest tokens. */
typedef enum { ORR_PASS_IN_ORDER, ORR_PASS_BY_TOKENS } OrrPassBalance;
extern const char *const orr_pass_balance_words[]; /* "in-order", "tokens", NULL */

typedef enum { ORR_PASS_PACKED, ORR_PASS_PADDED } OrrPassPacking;
extern const char *const orr_pass_packing_words[]; /* "packed", "padded", NULL */

typedef struct {
  double fixed_s, each_s;    /* a step without micro-batches; a micro-batch */
  OrrJoules fixed_j, each_j; /* of all GPUs, on top of static power; 0: not known */
} OrrPassTime;

typedef struct {
  gint64 replicas;      /* dp */
  gint64 micro;         /* sequences per micro-batch, padded */
  double micro_tokens;  /* per micro-batch */
  double padded_tokens; /* padded: of one sequence at full length */
  OrrPassBalance balance;
  OrrPassPacking packing;
} OrrPassShape;

/* The micro-batches, a real number, of the fullest replica for samples of @tokens (gint64). */
double orr_pass_time_micro_batches(const OrrPassShape *shape, const GArray *tokens);

G_END_DECLS

#endif
