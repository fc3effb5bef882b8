/*
 * verb_calibrate_doctor.c - orrery calibrate doctor: what would spoil a measurement here.
 */
#include "sim/cli/verb_calibrate_fit.h"

static const char *const words[] = {"ok", "note", "problem", "unknown"};

/* Returns the number of problems. */
static guint print_findings(const OrrDoctorFacts *facts, const GPtrArray *findings) {
  guint counts[G_N_ELEMENTS(words)] = {0};
  printf("%s, %u GPU%s\n", facts->device, facts->gpus->len, facts->gpus->len == 1 ? "" : "s");
  ORR_EACH_POINTER(const OrrDoctorFinding, finding, findings) {
    counts[finding->word]++;
    printf("  %-9s  %-12s %s\n", words[finding->word], finding->topic, finding->text);
  }
  printf("  verdict    %u problem%s, %u note%s, %u unknown\n", counts[ORR_DOCTOR_PROBLEM],
         counts[ORR_DOCTOR_PROBLEM] == 1 ? "" : "s", counts[ORR_DOCTOR_NOTE],
         counts[ORR_DOCTOR_NOTE] == 1 ? "" : "s", counts[ORR_DOCTOR_UNKNOWN]);
  return counts[ORR_DOCTOR_PROBLEM];
}

int orr_verb_calibrate_doctor(const OrrDeviceLayer *layer, GError **error) {
  g_autoptr(OrrDoctorFacts) facts = orr_doctor_facts_new();
  g_auto(GStrv) environment = g_get_environ();
  if (!layer->examine(facts, error)) return 1;
  g_autoptr(GPtrArray) findings = orr_doctor_findings(facts, environment);
  const guint n_problems = print_findings(facts, findings);
  if (n_problems) orr_show_problem("rows measured now would be of a GPU in this state");
  return n_problems > 0;
}
