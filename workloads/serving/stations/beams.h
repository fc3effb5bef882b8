/*
 * beams.h - the beams of one beam search: which blocks of the cache each has, and which of
 * them it shares.
 *
 *   prompt's whole blocks    | the prompt's last block | blocks of generated tokens
 *   shared by all            beam 0   a  b  c
 *                            beam 1   a  b  d           b is shared by two, a by three: c, d, e are
 *                                                       one beam's each
 *                            beam 2   a  e
 *
 * A token is a fork and an append. Fork: each beam of the next step goes on from one of this
 * step's, drawn anew with weights (rank + 1)^-skew, whose blocks it shares; a beam that nobody goes
 * on from is gone, with the blocks that only it had. Append: room for a token of each beam; a beam
 * at a block's end begins a new one, one whose last block others share copies it first
 * (copy-on-write), but for the last that shares it. So a beam's last block is always its own, and
 * the number of a block stands for all tokens up to its last one.
 *
 * Which beam has the better children is the model's affair, and not known here. Without skew this
 * is the neutral Wright-Fisher process: of k beams k (1 - (1 - 1/k)^k) have children, and two beams
 * have had different forebears d forks ago with probability (1 - 1/k)^d, which is the oracle of how
 * many blocks there are.
 */
#ifndef ORR_BEAMS_H
#define ORR_BEAMS_H

#include "sim/base/diag.h"
#include "sim/base/random.h"

G_BEGIN_DECLS

typedef struct OrrBeams OrrBeams;

/* An error for a search of @width beams that an engine or a vocabulary is too small for. */
void orr_beams_check(gint64 width, gint64 max_num_seqs, gint64 vocab, OrrPlace place,
                     OrrDiags *diags);

/* After a prompt's first token: @width beams, which share its last block where that is not full. */
OrrBeams *orr_beams_new(guint width, gint64 prompt, gint64 block_size, double skew, guint64 seed);
void orr_beams_free(OrrBeams *beams); /* NULL is fine */

guint orr_beams_width(const OrrBeams *beams);
/* Blocks that all beams have together, without the prompt's whole ones; after append room for a
 * token of each. */
gint64 orr_beams_blocks(const OrrBeams *beams);
gint64
orr_beams_fresh(const OrrBeams *beams); /* blocks that append would take: copies and new ones */
gint64 orr_beams_copies(const OrrBeams *beams); /* copies among them */
void orr_beams_append(OrrBeams *beams); /* nothing where there is room for the next token already */
void orr_beams_fork(OrrBeams *beams);   /* the tokens that there was room for are there */
/* The block of @beam that holds token @block * size of its sequence, not a whole one of the
 * prompt; it differs from all others of these beams at any time. */
guint32 orr_beams_block(const OrrBeams *beams, guint beam, gint64 block);

G_END_DECLS

#endif
