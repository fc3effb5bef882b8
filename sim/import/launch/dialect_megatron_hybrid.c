/*
 * dialect_megatron_hybrid.c - Megatron-LM's hybrid models: a letter for each layer.
 *
 *   M-M*-M-|M-M*-M-     M Mamba-2, * attention, - feed-forward, E experts; | cuts stages, and what
 *                       follows / is multi-token prediction
 *
 * Defaults are Megatron-LM's (megatron/training/arguments.py): state 128, head 64, 8 groups; heads
 * 2 h / 64; a convolution over 4 tokens and chunks of 128 (megatron/core/ssm/mamba_mixer.py).
 */
#include "sim/import/launch/launch_trainer.h"

static const OrrLaunchDialect *const own = &orr_dialect_megatron;

#include "sim/import/launch/own_keys.inc"

static const struct {
  char letter;
  const char *layer;
} letters[] = {{'M', "mamba"}, {'*', "attention"}, {'-', "dense"}, {'E', "moe"}};

static OrrLaunchSetting *find_pattern(OrrLaunchDraft *draft) {
  OrrLaunchSetting *setting = find(draft, "hybrid-layer-pattern");
  return setting && setting->value && !setting->is_unresolved ? setting : NULL;
}

/* Appends the layers of @pattern to @text; FALSE with an error: a letter is not known. */
static gboolean read_pattern(OrrLaunchDraft *draft, const OrrLaunchSetting *setting, GString *text,
                             gint64 *ret_n) {
  const gsize length = strcspn(setting->value, "/");
  gint64 n = 0;
  for (gsize i = 0; i < length; i++) {
    const char *layer = NULL;
    for (guint k = 0; k < G_N_ELEMENTS(letters); k++)
      if (letters[k].letter == setting->value[i]) layer = letters[k].layer;
    if (setting->value[i] == '|') continue;
    if (!layer) {
      orr_launch_draft_bad(draft, setting, "layer '%c' is not known: M, *, - and E are",
                           setting->value[i]);
      return FALSE;
    }
    g_string_append_printf(text, "%s%s", n++ ? ", " : "[", layer);
  }
  g_string_append_c(text, ']');
  *ret_n = n;
  return n > 0;
}

/* Stages of other lengths than equal ones. */
static gboolean is_uneven(const char *pattern) {
  g_auto(GStrv) stages = g_strsplit(pattern, "|", -1);
  for (char **stage = stages; *stage; stage++)
    if (strcspn(*stage, "/") != strcspn(*stages, "/")) return TRUE;
  return FALSE;
}

gint64 orr_dialect_megatron_hybrid_layers(OrrLaunchDraft *draft) {
  const OrrLaunchSetting *setting = find_pattern(draft);
  g_autoptr(GString) text = g_string_new(NULL);
  gint64 n = 0;
  return setting && read_pattern(draft, setting, text, &n) ? n : 0;
}

void orr_dialect_megatron_hybrid(OrrLaunchDraft *draft) {
  static const struct {
    const char *key, *path;
    gint64 fallback;
  } sizes[] = {{"mamba-head-dim", "model.mamba.head-dim", 64},
               {"mamba-state-dim", "model.mamba.state", 128},
               {"mamba-num-groups", "model.mamba.groups", 8},
               {"mamba-num-heads", "model.mamba.heads", 0}};
  OrrLaunchSetting *setting = find_pattern(draft);
  g_autoptr(GString) text = g_string_new(NULL);
  gint64 n = 0;
  if (!setting || !read_pattern(draft, setting, text, &n)) return;
  orr_launch_draft_set(draft, "model.layout", text->str, setting, NULL);
  if (is_uneven(setting->value) || strchr(setting->value, '/'))
    orr_launch_draft_judge(draft, setting, ORR_LAUNCH_NOT_SIMULATED,
                           "stages of unequal depth, and multi-token prediction: stages are equal "
                           "here");
  if (!strchr(text->str, 'b')) return; /* no mamba */
  const gint64 head = MAX(number(draft, "mamba-head-dim", 64), 1);
  for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
    const gint64 usual =
        sizes[i].fallback ? sizes[i].fallback : 2 * number(draft, "hidden-size", 0) / head;
    const OrrLaunchSetting *source = find(draft, sizes[i].key);
    orr_launch_draft_set_number(draft, sizes[i].path, number(draft, sizes[i].key, usual), source,
                                source ? NULL : "Megatron's default");
  }
  orr_launch_draft_set(draft, "model.mamba.conv", "4", NULL, "Megatron's default");
  orr_launch_draft_set(draft, "model.mamba.chunk", "128", NULL, "Megatron's default");
}
