/*
 * failures.c - the fields of a document of failures.
 */
#include "workloads/campaign/failures.h"

#include "sim/base/idle.h"

static const char *const life_words[] = {"exponential", "weibull", "lognormal", NULL};
static const char *const scope_words[] = {"gpu", "node", "switch", "rack", "job", NULL};
static const char *const repair_words[] = {"fixed", "exponential", "lognormal", NULL};

static const OrrFieldTable process_table = ORR_FIELDS(
    "failure-process", "One way in which things go wrong.", OrrFailureProcess,
    ORR_FIELD_TEXT(OrrFailureProcess, "component", component, NULL, "What fails, in results."),
    ORR_FIELD_WORD(OrrFailureProcess, "life", life, life_words, "exponential",
                   "Distribution of the time to a failure."),
    ORR_FIELD_REAL(OrrFailureProcess, "rate-per-hour", rate_per_hour, ORR_UNIT_NONE, "0",
                   "exponential: failures of one component per hour.", .min = 0, .max = 1e6),
    ORR_FIELD_REAL(OrrFailureProcess, "scale", scale_s, ORR_UNIT_SECONDS, "0 s",
                   "weibull: the scale; lognormal: the median.", .min = 0, .max = 1e15),
    ORR_FIELD_REAL(OrrFailureProcess, "shape", shape, ORR_UNIT_NONE, "1",
                   "weibull: the exponent; lognormal: sigma.", .min = 0.05, .max = 20),
    ORR_FIELD_REAL(OrrFailureProcess, "infant-multiple", infant, ORR_UNIT_NONE, "1",
                   "How many times as often it fails at the beginning of each attempt.", .min = 1,
                   .max = 1e6),
    ORR_FIELD_REAL(OrrFailureProcess, "infant-for", infant_s, ORR_UNIT_SECONDS, "0 s",
                   "How long that beginning lasts.", .min = 0, .max = 1e9),
    ORR_FIELD_WORD(OrrFailureProcess, "scope", scope, scope_words, NULL,
                   "The part whose rate this is, and everything that fails with it."),
    ORR_FIELD_INT(OrrFailureProcess, "nodes", nodes, "1",
                  "switch, rack: nodes that share one, and fail with it.", .min = 1, .max = 1e6),
    ORR_FIELD_TEXT(OrrFailureProcess, "symptom", symptom, NULL,
                   "How it shows, for campaign.detection; silent-corruption: the job goes on, and "
                   "its results are worthless."),
    ORR_FIELD_BOOL(OrrFailureProcess, "transient", transient, "false",
                   "The job can restart on the same nodes."),
    ORR_FIELD_REAL(OrrFailureProcess, "repair", repair_s, ORR_UNIT_SECONDS, "0 s",
                   "Mean time until its nodes are back; 0: campaign.repair.", .min = 0, .max = 1e9),
    ORR_FIELD_WORD(OrrFailureProcess, "repair-distribution", repair, repair_words, "exponential",
                   "Distribution of that time."),
    ORR_FIELD_REAL(OrrFailureProcess, "repair-sigma", repair_sigma, ORR_UNIT_NONE, "1",
                   "lognormal repairs: sigma.", .min = 0, .max = 5));

static const OrrFieldTable lemon_table = ORR_FIELDS(
    "lemons", "Nodes that fail more often than the others.", OrrFailureLemons,
    ORR_FIELD_REAL(OrrFailureLemons, "fraction", fraction, ORR_UNIT_FRACTION, "0",
                   "Fraction of the nodes, spares included, that are lemons.", .min = 0, .max = 1),
    ORR_FIELD_REAL(OrrFailureLemons, "multiple", multiple, ORR_UNIT_NONE, "1",
                   "How many times as often a lemon fails as another node.", .min = 1, .max = 1e6));

const OrrFieldTable orr_failures_table = ORR_FIELDS(
    "failures", "What fails, how often, and how it shows.", OrrFailures,
    ORR_COLUMN_TEXT(OrrFailures, "name", name, "Name of the set."),
    ORR_COLUMN_TEXT(OrrFailures, "source", source, "Where the rates were published."),
    ORR_FIELD_SECTIONS(OrrFailures, "processes", processes, &process_table, NULL, "What fails."),
    ORR_FIELD_SECTION(OrrFailures, "lemons", lemons, &lemon_table, "{}",
                      "Nodes that fail more often; rates then hold for the other nodes."));

gboolean orr_failures_is_silent(const OrrFailureProcess *p) {
  return g_str_equal(p->symptom, "silent-corruption");
}

gboolean orr_failures_takes_nodes(const OrrFailureProcess *p) {
  return !p->transient && p->scope != ORR_FAILURE_SCOPE_JOB && !orr_failures_is_silent(p);
}

/* Keys of the @i-th process that nothing reads. */
static void check_idle(const OrrFailureProcess *p, guint i, OrrPlace place, OrrDiags *diags) {
  const char *const stays = "no node goes out of service with it";
  const gboolean takes = orr_failures_takes_nodes(p);
  const OrrIdleKey keys[] = {
      {"shape", p->life == ORR_FAILURE_EXPONENTIAL, "an exponential life has rate-per-hour alone"},
      {"infant-for", p->infant <= 1, "infant-multiple is 1"},
      {"repair", !takes, stays},
      {"repair-distribution", !takes, stays},
      {"repair-sigma", !takes, stays},
      {"repair-sigma", takes && p->repair != ORR_FAILURE_REPAIR_LOGNORMAL,
       "repair-distribution is not lognormal"},
  };
  orr_idle_warn_item(keys, G_N_ELEMENTS(keys), place, "processes", i, diags);
}

/* The numbers of its life. */
static void check_life(const OrrFailureProcess *p, OrrPlace place, OrrDiags *diags) {
  const gboolean is_exponential = p->life == ORR_FAILURE_EXPONENTIAL;
  if (is_exponential && p->scale_s > 0)
    orr_diags_error(diags, place, "%s: an exponential life takes rate-per-hour, and no scale",
                    p->component);
  else if (is_exponential && p->rate_per_hour <= 0)
    orr_diags_error(diags, place,
                    "%s: an exponential life needs rate-per-hour above 0; leave out a process that "
                    "never fails",
                    p->component);
  if (!is_exponential && (p->scale_s <= 0 || p->rate_per_hour > 0))
    orr_diags_error(diags, place, "%s: a %s life takes scale and shape, and no rate-per-hour",
                    p->component, life_words[p->life]);
}

void orr_failures_check(const OrrFailures *failures, OrrPlace place, OrrDiags *diags) {
  ORR_EACH_POINTER_AT(i, const OrrFailureProcess, p, failures->processes) {
    check_life(p, place, diags);
    check_idle(p, i, place, diags);
    if (p->infant > 1 && p->infant_s <= 0)
      orr_diags_error(diags, place, "%s: infant-multiple needs infant-for", p->component);
    if (p->nodes > 1 && p->scope != ORR_FAILURE_SCOPE_SWITCH && p->scope != ORR_FAILURE_SCOPE_RACK)
      orr_diags_error(diags, place, "%s: nodes is for scope switch or rack, found %s", p->component,
                      scope_words[p->scope]);
  }
  const OrrIdleKey keys[] = {
      {"lemons.multiple", failures->lemons.fraction <= 0, "lemons.fraction is 0: no node is one"},
      {"lemons.fraction", failures->lemons.multiple <= 1,
       "lemons.multiple is 1: lemons fail as others do"},
  };
  orr_idle_warn(keys, G_N_ELEMENTS(keys), place, diags);
}
