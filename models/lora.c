/*
 * lora.c - the field table of the section, and its words as bits.
 *
 * The default targets are NeMo's (linear_qkv and linear_proj; nemo/collections/llm/peft/lora.py,
 * 2024).
 */
#include "models/lora.h"

static const char *const targets[] = {"qkv", "projection", "fc1", "fc2", NULL};

const OrrFieldTable orr_lora_table = ORR_FIELDS(
    "lora", "Low-rank adapters on frozen weights.", OrrLoraFields,
    ORR_FIELD_INT(OrrLoraFields, "rank", rank, "0",
                  "Rank of the adapters; 0: none, all weights are trained.", .min = 0, .max = 1e6),
    ORR_FIELD_TEXTS(OrrLoraFields, "targets", targets, "[qkv, projection]",
                    "Linear layers with an adapter: qkv, projection, fc1, fc2."),
    ORR_FIELD_BOOL(
        OrrLoraFields, "quantised", quantised, "false",
        "Whether frozen linear layers are stored in NF4 and expanded to 16 bits for each "
        "product (QLoRA)."));

static guint bit_of(const char *word, OrrPlace place, OrrDiags *diags) {
  for (guint i = 0; targets[i]; i++)
    if (strcmp(word, targets[i]) == 0) return 1u << i;
  const char *near = orr_diag_nearest_word(word, targets);
  if (diags)
    orr_diags_error(diags, place,
                    "lora.targets: unknown '%s'%s%s%s (allowed: qkv, projection, fc1, fc2)", word,
                    near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
  return 0;
}

OrrLora orr_lora_settle(const OrrLoraFields *asked, OrrPlace place, OrrDiags *diags) {
  OrrLora lora = {.rank = asked->rank, .quantised = asked->quantised};
  for (guint i = 0; asked->targets && asked->targets[i]; i++)
    lora.targets |= bit_of(asked->targets[i], place, diags);
  if (diags && lora.quantised && !lora.rank)
    orr_diags_error(diags, place, "lora.quantised needs adapters: set lora.rank to 1 or more");
  if (diags && lora.rank && !lora.targets)
    orr_diags_error(diags, place,
                    "lora.rank is %" G_GINT64_FORMAT
                    ", but lora.targets names no layer: nothing is trained",
                    lora.rank);
  return lora;
}
