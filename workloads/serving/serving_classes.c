/*
 * serving_classes.c - the document of requests' classes: which model each asks, its lengths, its
 * priority, and what its requests must meet.
 */
#include "workloads/serving/serving.h"

#define SECONDS(name_, member_, sentence_)                                                         \
  ORR_FIELD_REAL(OrrSlo, name_, member_, ORR_UNIT_SECONDS, "0 s", sentence_,                       \
                 .flags = ORR_FIELD_UNSIGNED)
static const OrrField slo_fields[] = {
    SECONDS("ttft", ttft_s, "Time to the first token, at most; 0: none."),
    SECONDS("tpot", tpot_s, "Time per output token after the first, at most; 0: none."),
    SECONDS("e2e", e2e_s, "Time to the last token, at most; 0: none."),
};
const OrrFieldTable orr_slo_table = ORR_FIELD_TABLE(
    "slo", "Objectives that a request must meet to count as goodput.", OrrSlo, slo_fields);

static const OrrField class_fields[] = {
    ORR_FIELD_TEXT(OrrRequestClass, "name", name, NULL, "The class's name."),
    ORR_FIELD_REAL(OrrRequestClass, "share", share, ORR_UNIT_NONE, "1",
                   "Weight of the class, relative to the other classes.",
                   .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_INT(OrrRequestClass, "priority", priority, "0",
                  "Smaller is first, with the scheduler `priority`.", .min = -1e6, .max = 1e6),
    ORR_FIELD_SECTION(OrrRequestClass, "slo", slo, &orr_slo_table, "{}",
                      "Its own objectives; all zero: the workload's."),
    ORR_FIELD_TEXT(OrrRequestClass, "model", model, NULL,
                   "Model that its requests ask, by the name of the scenario's or a group's; by "
                   "default the scenario's.",
                   .flags = ORR_FIELD_OPTIONAL),
    ORR_FIELD_SECTION(OrrRequestClass, "input", input, &orr_lengths_table, NULL,
                      "Lengths of its prompts; by default the workload's.",
                      .flags = ORR_FIELD_OPTIONAL),
    ORR_FIELD_SECTION(OrrRequestClass, "output", output, &orr_lengths_table, NULL,
                      "Lengths of its outputs; by default the workload's.",
                      .flags = ORR_FIELD_OPTIONAL),
};
const OrrFieldTable orr_request_class_table =
    ORR_FIELD_TABLE("request-class", "A class of requests.", OrrRequestClass, class_fields);
