/*
 * sizes.h - sizes along axes, or by level, as one word of a document: "4x4x8".
 */
#pragma once

#include "sim/base/ground.h"

/* Parses at most @most whole numbers from 1 to 1,000,000, joined by 'x', and sets the rest of
 * @ret_sizes to 1. Returns how many; 0 with ORR_FAULT_DOCUMENT that names @key and what is
 * allowed. */
guint orr_sizes_parse(const char *key, const char *text, guint most, gint64 *ret_sizes,
                      GError **error);

/* The same for ratios of 1 or more. */
guint orr_sizes_parse_ratios(const char *key, const char *text, guint most, double *ret_ratios,
                             GError **error);
