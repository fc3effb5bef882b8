/*
 * lora.h - the document section for low-rank adapters: which linear layers have one, and its rank.
 */
#pragma once

#include "sim/base/field.h"

/* The linear layers that can have an adapter, as bits. */
enum {
  ORR_LORA_QKV = 1 << 0, /* for latent attention, all four projections */
  ORR_LORA_PROJECTION = 1 << 1,
  ORR_LORA_FC1 = 1 << 2, /* for a dense feed-forward; experts have no adapters */
  ORR_LORA_FC2 = 1 << 3,
  ORR_LORA_ALL = 15,
  ORR_LORA_Q = 1 << 4, /* parts of qkv, each with an adapter of its own */
  ORR_LORA_K = 1 << 5,
  ORR_LORA_V = 1 << 6,
  ORR_LORA_GATE = 1 << 7, /* and of fc1 */
  ORR_LORA_UP = 1 << 8
};

/* Low-rank adapters (Hu et al. 2021, arXiv 2106.09685): all other weights are frozen, without
 * gradients or optimizer states. Quantised (QLoRA, arXiv 2305.14314), frozen linear layers are
 * stored in NF4 with double quantisation and expanded to 16 bits before each product. */
typedef struct {
  gint64 rank; /* 0: no adapters, all weights are trained */
  guint targets;
  gboolean quantised, dropout, fp32;
} OrrLora;

/* The document section: lora: {rank: 16, targets: [qkv, projection], quantised: true} */
typedef struct {
  gint64 rank;
  char **targets; /* "qkv", "projection", "fc1", "fc2", "q", "k", "v", "gate", "up" */
  gboolean quantised, dropout, fp32;
} OrrLoraFields;

extern const OrrFieldTable orr_lora_table;

/* Unknown targets are ignored: orr_lora_check finds them. */
OrrLora orr_lora_settle(const OrrLoraFields *fields);

/* Adds what is wrong with @fields on a model of @hidden to @diags. */
void orr_lora_check(const OrrLoraFields *fields, gint64 hidden, OrrPlace place, OrrDiags *diags);
