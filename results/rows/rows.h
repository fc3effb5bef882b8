/*
 * rows.h - the facts of a run as typed rows: one struct and one field table per SQL table.
 *
 * Both come from rows.inc, which describes each table once. The results database makes its SQL
 * table from the field table, `--json` prints it, and the reference documents it. Rows own nothing:
 * their texts are interned, or outlive the rows.
 */
#pragma once

#include "sim/base/field.h"
#include "topologies/cluster_power.h"

/* Latencies of requests, or gaps between tokens, in seconds. */
typedef struct {
  double mean, p50, p90, p95, p99;
} OrrLatencies;

/* What the job costs (money.c). NAN: not known, because no price, or no power model, is given. */
typedef struct {
  double hardware_per_gpu_hour, energy_per_gpu_hour, per_gpu_hour;
  double per_day, per_million_tokens;
  double carbon_kg_per_day, carbon_g_per_million_tokens;
} OrrMoney;

#define ORR_ROW_INT gint64
#define ORR_ROW_RUN gint64
#define ORR_ROW_REAL double
#define ORR_ROW_BOOL gboolean
#define ORR_ROW_TEXT char *

#define RECORD(table, sentence)                                                                    \
  extern const OrrFieldTable orr_##table##_table;                                                  \
  typedef struct ROW ROW;                                                                          \
  struct ROW {
#define COLUMN(name, type, member, unit, sentence) ORR_ROW_##type member;
#define LATENCIES(name, member, sentence) OrrLatencies member;
#define MONEY(member) OrrMoney member;
#define MACHINE(member) OrrMachinePower member;
#define END(table)                                                                                 \
  }                                                                                                \
  ;
#include "results/rows/rows.inc"

/* A run's answer: the member of its kind (kinds.h). Numbers only: sweeps and validations pass it
 * between processes as bytes. */
typedef union {
  OrrTrainingResult training;
  OrrClusterResult cluster;
  OrrCollectivesResult collectives;
  OrrDiffusionResult diffusion;
  OrrPostTrainingResult post_training;
  OrrServingResult serving;
  OrrStepResult step;
  OrrTraceResult trace;
  OrrCampaignResult campaign;
} OrrResult;

/* All tables, NULL-terminated: for documentation, and for views over a new database. */
extern const OrrFieldTable *const orr_row_tables[];
