/*
 * lora.c - the field table of the section, and its words as bits.
 *
 * The default targets are NeMo's (linear_qkv and linear_proj; nemo/collections/llm/peft/lora.py,
 * 2024). Where a framework joins queries, keys and values in one matrix, it has one adapter; where
 * it does not (Hugging Face's modules under PEFT, and vLLM's slots, which keep the adapters of
 * modules that it has joined), each has its own: layer.h, orr_matrix_adapters.
 */
#include "models/lora.h"

static const char *const targets[] = {"qkv", "projection", "fc1",  "fc2", "q",
                                      "k",   "v",          "gate", "up",  NULL};

const OrrFieldTable orr_lora_table = ORR_FIELDS(
    "lora", "Low-rank adapters on frozen weights.", OrrLoraFields,
    ORR_FIELD_INT(OrrLoraFields, "rank", rank, "0",
                  "Rank of the adapters; 0: none, all weights are trained.", .min = 0, .max = 1e6),
    ORR_FIELD_TEXTS(OrrLoraFields, "targets", targets, "[qkv, projection]",
                    "Linear layers with an adapter: qkv, projection, fc1, fc2; or parts of qkv (q, "
                    "k, v) and of fc1 (gate, up)."),
    ORR_FIELD_BOOL(
        OrrLoraFields, "quantised", quantised, "false",
        "Whether frozen linear layers are stored in NF4 and expanded to 16 bits for each "
        "product (QLoRA)."),
    ORR_FIELD_BOOL(OrrLoraFields, "fp32", fp32, "false",
                   "Whether adapters are kept in fp32 as PEFT does, so that plain PyTorch casts "
                   "their inputs up and down again, and scales their results."),
    ORR_FIELD_BOOL(OrrLoraFields, "dropout", dropout, "false",
                   "Whether inputs of adapters are dropped out (lora_dropout above 0), by a kernel "
                   "of its own where layers are plain PyTorch's."));

/* 0: there is no such target. */
static guint bit_of(const char *word) {
  for (guint i = 0; targets[i]; i++)
    if (strcmp(word, targets[i]) == 0) return 1u << i;
  return 0;
}

OrrLora orr_lora_settle(const OrrLoraFields *asked) {
  OrrLora lora = {.rank = asked->rank,
                  .quantised = asked->quantised,
                  .dropout = asked->dropout,
                  .fp32 = asked->fp32};
  for (guint i = 0; asked->targets && asked->targets[i]; i++)
    lora.targets |= bit_of(asked->targets[i]);
  return lora;
}

static void check_target(const char *word, OrrPlace place, OrrDiags *diags) {
  if (bit_of(word)) return;
  const char *near = orr_diag_nearest_word(word, targets);
  orr_diags_error(diags, place,
                  "lora.targets: unknown '%s'%s%s%s (allowed: qkv, projection, fc1, fc2, q, k, v, "
                  "gate, up)",
                  word, near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
}

void orr_lora_check(const OrrLoraFields *asked, gint64 hidden, OrrPlace place, OrrDiags *diags) {
  for (guint i = 0; asked->targets && asked->targets[i]; i++)
    check_target(asked->targets[i], place, diags);
  if (asked->quantised && !asked->rank)
    orr_diags_error(diags, place, "lora.quantised needs adapters: set lora.rank to 1 or more");
  if (asked->rank > hidden)
    orr_diags_error(diags, place,
                    "lora.rank (%ld) is above the model's hidden size (%ld): such adapters are "
                    "larger than the matrices they adapt",
                    asked->rank, hidden);
  if (asked->rank && !orr_lora_settle(asked).targets)
    orr_diags_error(diags, place,
                    "lora.rank is %ld, but lora.targets names no layer: nothing is trained",
                    asked->rank);
}
