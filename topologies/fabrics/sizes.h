/*
 * sizes.h - "4x4x8": sizes along axes, or down levels, as one word of a document.
 */
#ifndef ORR_SIZES_H
#define ORR_SIZES_H

#include <glib.h>

G_BEGIN_DECLS

/* Whole numbers from 1 to 1,000,000 joined by 'x', at most @most of them; the rest of @ret_sizes
 * is 1. Returns how many; 0 with ORR_FAULT_DOCUMENT that names @key and says what is allowed. */
guint orr_sizes_parse(const char *key, const char *text, guint most, gint64 *ret_sizes,
                      GError **error);

/* Ratios, 1 or more each, in the same way. */
guint orr_sizes_parse_ratios(const char *key, const char *text, guint most, double *ret_ratios,
                             GError **error);

G_END_DECLS

#endif
