/*
 * validate_stored.h - writes calibration/residuals, and compares a validation with what it holds:
 * bands rest on those numbers, and are wrong by as much as the model has moved since.
 */
#ifndef ORR_VALIDATE_STORED_H
#define ORR_VALIDATE_STORED_H

#include "sim/validate/validate.h"

G_BEGIN_DECLS

/* The row of the same set and line in @stored; NULL: none. */
const OrrResidual *orr_validate_stored_find(const OrrResiduals *stored, const OrrResidual *row);

/* Whether both have the same likeness and answers, up to a relative 1e-4: files hold six digits. */
gboolean orr_validate_stored_same(const OrrResidual *stored, const OrrResidual *row);

/* What to tell the user: "3 of 10 rows of megatron-sc21 differ from FILE: ...". NULL: nothing, as
 * all rows are the same or FILE holds no row of the set. Newly allocated. */
char *orr_validate_stored_difference(OrrLibrary *library, const OrrValidation *validation);

/* What to tell the user before @folder's files are replaced: "2 rows of FOLDER are gone, the first
 * ...": their sets refuse them now, or are gone. NULL: nothing. Newly allocated. */
char *orr_validate_stored_lost(const GPtrArray *validations, const char *folder);

/* The mean errors of the results without a band, by set and part: of OrrKnownError. */
GArray *orr_validate_stored_errors(const GPtrArray *validations);

/* Writes @folder/KIND.csv for each kind of workload, from @validations (OrrValidation *). All files
 * are replaced together, when the last one is complete; on an error none is. errors.csv, of the
 * results without a band, follows. */
gboolean orr_validate_stored_write(const GPtrArray *validations, const char *folder,
                                   GError **error);

G_END_DECLS

#endif
