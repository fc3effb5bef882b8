/*
 * rows.c - the field tables of all rows, made from the descriptions in rows.inc.
 */
#include "results/rows/rows.h"

#define KIND_INT .kind = ORR_FIELD_INT, .flags = ORR_FIELD_OPTIONAL
#define KIND_RUN .kind = ORR_FIELD_INT, .flags = ORR_FIELD_RUN
#define KIND_REAL .kind = ORR_FIELD_REAL, .flags = ORR_FIELD_OPTIONAL
#define KIND_BOOL .kind = ORR_FIELD_BOOL, .flags = ORR_FIELD_OPTIONAL
#define KIND_TEXT .kind = ORR_FIELD_TEXT, .flags = ORR_FIELD_OPTIONAL

#define RECORD(table_, sentence_)                                                                  \
  static const char table_##_sentence[] = sentence_;                                               \
  static const OrrField table_##_fields[] = {
#define COLUMN(name_, type_, member_, unit_, sentence_)                                            \
  {.name = name_,                                                                                  \
   .offset = offsetof(ROW, member_),                                                               \
   .sentence = sentence_,                                                                          \
   .unit = ORR_UNIT_##unit_,                                                                       \
   KIND_##type_},
#define LATENCIES(name_, member_, sentence_)                                                       \
  COLUMN(name_ "-mean-s", REAL, member_.mean, SECONDS, sentence_ ", mean.")                        \
  COLUMN(name_ "-p50-s", REAL, member_.p50, SECONDS, sentence_ ", median.")                        \
  COLUMN(name_ "-p90-s", REAL, member_.p90, SECONDS, sentence_ ", 90th percentile.")               \
  COLUMN(name_ "-p95-s", REAL, member_.p95, SECONDS, sentence_ ", 95th percentile.")               \
  COLUMN(name_ "-p99-s", REAL, member_.p99, SECONDS, sentence_ ", 99th percentile.")
#define MONEY(member_)                                                                             \
  COLUMN("hardware-cost-per-gpu-hour", REAL, member_.hardware_per_gpu_hour, NONE,                  \
         "One hour of one GPU without energy: its rent, or its part of the machine's purchase "    \
         "over lifetime and utilisation, in the prices' currency; NULL: no such price.")           \
  COLUMN("energy-cost-per-gpu-hour", REAL, member_.energy_per_gpu_hour, NONE,                      \
         "Energy at the meter of one hour of one GPU: machine_power_mean_w times PUE; NULL: no "   \
         "price of a kWh, or machine_power_mean_w is NULL.")                                       \
  COLUMN("cost-per-gpu-hour", REAL, member_.per_gpu_hour, NONE,                                    \
         "Sum of the two, or of the one that has a price; NULL: neither has, or one that has is "  \
         "not known.")                                                                             \
  COLUMN("cost-per-day", REAL, member_.per_day, NONE, "Cost of all GPUs of the job for a day.")    \
  COLUMN("cost-per-million-tokens", REAL, member_.per_million_tokens, NONE,                        \
         "Cost per million tokens: trained, or of prompts and outputs together.")                  \
  COLUMN("carbon-kg-per-day", REAL, member_.carbon_kg_per_day, NONE,                               \
         "Kilograms of CO2 of the energy at the meter, per day; NULL: prices has no "              \
         "carbon-grams-per-kwh, or machine_power_mean_w is NULL.")                                 \
  COLUMN("carbon-g-per-million-tokens", REAL, member_.carbon_g_per_million_tokens, NONE,           \
         "Grams of CO2 per million tokens.")
#define MACHINE(member_)                                                                           \
  COLUMN("machine-power-mean-w", REAL, member_.all_w, WATTS,                                       \
         "GPUs, the rest of their nodes, and their part of network and storage where the cluster " \
         "states them, mean, before PUE; NULL: the nodes' rest is not stated.")                    \
  COLUMN("nodes-power-mean-w", REAL, member_.nodes_w, WATTS,                                       \
         "The part of the nodes' rest: hosts, NICs, fans, losses of supplies.")                    \
  COLUMN("network-power-mean-w", REAL, member_.network_w, WATTS,                                   \
         "The part of switches and optics; NULL: the cluster has some and does not state what "    \
         "they draw, and machine_power_mean_w lacks it.")                                          \
  COLUMN("storage-power-mean-w", REAL, member_.storage_w, WATTS, "The same of storage servers.")
#define END(table_)                                                                                \
  }                                                                                                \
  ;                                                                                                \
  const OrrFieldTable orr_##table_##_table =                                                       \
      ORR_FIELD_TABLE(#table_, table_##_sentence, ROW, table_##_fields);
#include "results/rows/rows.inc"

const OrrFieldTable *const orr_row_tables[] = {
#define RECORD(table, sentence) &orr_##table##_table,
#include "results/rows/rows.inc"
    NULL};
