/*
 * compare_verdict.h - which of two stored runs is better, and how sure that is: the band of the
 * ratio of their results (sim/bands/band.h).
 *
 *   run 2 is 1.10 times faster (1.04 to 1.15, 80 % band from 61 measured pairs): 97 % sure
 *   not told apart: 0.97 to 1.08 times as fast (80 % band from 61 measured pairs)
 */
#ifndef ORR_COMPARE_VERDICT_H
#define ORR_COMPARE_VERDICT_H

#include "results/store.h"
#include "sim/base/library.h"

G_BEGIN_DECLS

/* One result of both runs. */
typedef struct {
  char *metric;
  double other, this;      /* values */
  double ratio;            /* @this over @other */
  double low, high, level; /* bounds of that ratio as it would be measured; NAN: no band */
  gint64 n_pairs;
  double sure;         /* that the better run is the better one; NAN: no band */
  gboolean is_decided; /* the bounds exclude 1, on the side of @ratio */
  char *quality, *text;
} OrrVerdict;

typedef struct {
  char *differ;     /* "tp, micro-batch"; "" where the runs have no likeness */
  char *note;       /* why there is no verdict, or why to doubt them; NULL: none */
  GArray *verdicts; /* of OrrVerdict */
} OrrVerdicts;

/* The verdicts on run @this against run @other, which are of one kind. NULL with @error. */
OrrVerdicts *orr_compare_verdict_new(OrrLibrary *library, OrrStore *store, gint64 other,
                                     gint64 this, GError **error);
void orr_compare_verdict_free(OrrVerdicts *verdicts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrVerdicts, orr_compare_verdict_free)

/* As lines of text, a Markdown table, and members of a JSON object. Newly allocated. */
char *orr_compare_verdict_lines(const OrrVerdicts *verdicts);
char *orr_compare_verdict_markdown(const OrrVerdicts *verdicts);
char *orr_compare_verdict_json(const OrrVerdicts *verdicts);

G_END_DECLS

#endif
