/*
 * expert_draw.h - draws the experts that each token of a measured mixture-of-experts layer chooses,
 * and selects the rank whose load is measured.
 *
 *   balanced    a token's choices lie stride = experts / topk apart, so that they are spread over
 *               the ranks; token t begins at t, or at t stride / tokens where there are fewer
 *               tokens than that (as the collector's balanced_logits). At few tokens each rank then
 *               has its mean of tokens topk / ep, which is what cost_moe.c takes such a row for;
 *               choices next to each other would all be one rank's.
 *   power law   the experts' loads are the stratified quantiles of the density x^-1.2 on [lo, hi],
 *               scaled to tokens topk in all: expert i of a sorted list gets the mean of Q over [i
 *               / experts, (i + 1) / experts], with Q(u) = ((hi^-0.2 - lo^-0.2) u + lo^-0.2)^(1 /
 *               -0.2). lo = 1 and hi = 0.8 tokens where tokens topk > experts, else 0.01 and 2. No
 *               expert gets more than all tokens. Then the experts are shuffled.
 *
 * The law and its limits come from `power_law_1.2` in NVIDIA aiconfigurator's collector
 * (power_law_logits_v3), which draws the loads at random. Quantiles follow the same law without the
 * randomness of a draw, and cost_moe.c uses the same quantiles. Like the collector, the session
 * measures the rank with the most tokens, because a layer waits for it. (The load of a random rank
 * is close to the mean; exported under this name it would be taken for the largest.)
 */
#pragma once

#include "sim/base/ground.h"

/* The tokens of each of @n experts in falling order: @tokens * @topk in total, at most @tokens
 * each. @topk <= @n. */
void orr_expert_draw_loads(gint64 tokens, gint64 topk, gint64 n, gint64 *ret_loads);

/* @ret_chosen: [tokens, topk], the experts of each token, distinct within a token. */
void orr_expert_draw(gint64 tokens, gint64 topk, gint64 n, gboolean is_balanced, guint64 seed,
                     gint32 *ret_chosen);

/* The first expert of the rank with the most choices, if each rank holds @per_rank experts; ties
 * go to the lowest rank. */
gint64 orr_expert_draw_fullest(const gint32 *chosen, gint64 n_choices, gint64 n, gint64 per_rank);
