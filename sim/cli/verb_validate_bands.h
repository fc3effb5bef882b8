/*
 * verb_validate_bands.h - `orrery validate --bands`: the test of what error bands promise.
 */
#ifndef ORR_VERB_VALIDATE_BANDS_H
#define ORR_VERB_VALIDATE_BANDS_H

#include "sim/validate/validate.h"

G_BEGIN_DECLS

typedef struct {
  char *const *sets;         /* NULL: all */
  const OrrValidation *rows; /* these replayed rows instead; NULL: the shipped residuals */
  const char *leave;         /* "set", "row", "nothing"; NULL: set, or nothing for rows */
  guint n_pairs;             /* pairs of each set, at most */
  gboolean as_json;
} OrrVerbValidateBands;

/* FALSE with @error for an unknown word of --leave, or one that rows cannot have. */
gboolean orr_verb_validate_bands_check(const char *leave, gboolean has_rows, GError **error);

/* Prints coverage, widths and pairs. Returns the exit status; @error is set when it is 2. */
int orr_verb_validate_bands(OrrLibrary *library, const OrrVerbValidateBands *order, GError **error);

G_END_DECLS

#endif
