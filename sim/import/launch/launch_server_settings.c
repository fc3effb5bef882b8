/*
 * launch_server_settings.c - the settings of one command: its words, the config that it names, the
 * container and the variables around it.
 */
#include "sim/base/yaml.h"
#include "sim/import/launch/launch_private.h"
#include "sim/import/launch/launch_serving.h"

/* --- Settings around a command --- */

/* NCCL_ALGO=Ring: nccl.algo. Variables without one of these beginnings are the script's own. */
static void add_variable(OrrLaunchDraft *draft, const OrrLaunchWord *variable) {
  static const char *const prefixes[] = {
      "NCCL", "RCCL", "FI",  "OFI",     "VLLM",    "SGLANG",   "SGL",     "TRTLLM",
      "TLLM", "CUDA", "HIP", "HF",      "HUGGING", "TORCH",    "PYTORCH", "OMP",
      "UCX",  "GLOO", "RAY", "LMCACHE", "DYN",     "MOONCAKE", NULL};
  const char *equals = strchr(variable->text, '='), *line = strchr(variable->text, '_');
  if (!equals || !line || line > equals) return;
  g_autofree char *prefix = g_strndup(variable->text, (gsize)(line - variable->text));
  if (!g_strv_contains(prefixes, prefix)) return;
  g_autofree char *rest = g_strndup(line + 1, (gsize)(equals - line - 1));
  g_autofree char *key = g_strdup_printf("%s.%s", prefix, rest);
  OrrLaunchSetting *setting =
      orr_launch_draft_add(draft, &orr_dialect_environment, key, equals + 1, variable->place);
  g_free(setting->written);
  setting->written = g_strdup(variable->text);
  if (!variable->unresolved) return;
  setting->is_unresolved = TRUE;
  setting->unresolved = g_strdup(variable->unresolved);
}

static void add_plain(OrrLaunchDraft *draft, const char *key, const char *value, OrrPlace place) {
  orr_launch_draft_add(draft, &orr_dialect_container, key, value, place);
}

static void add_option(OrrLaunchDraft *draft, const OrrLaunchWord *option) {
  g_autofree char *name = g_strndup(option->text, strcspn(option->text, "="));
  g_autofree char *key = g_strdup_printf("option.%s", name + strspn(name, "-"));
  OrrLaunchSetting *setting =
      orr_launch_draft_add(draft, &orr_dialect_container, key, NULL, option->place);
  g_free(setting->written);
  setting->written = g_strdup(option->text);
}

/* docker's options: variables, and the rest as one setting each. */
static void add_options(OrrLaunchDraft *draft, const OrrServerCommand *found) {
  for (guint i = found->container; i < found->n_options; i++) {
    const OrrLaunchWord *option = found->command->words->pdata[i];
    const gboolean is_variable =
        strcmp(option->text, "-e") == 0 || strcmp(option->text, "--env") == 0;
    if (is_variable && i + 1 < found->n_options)
      add_variable(draft, found->command->words->pdata[++i]);
    else if (g_str_has_prefix(option->text, "--env="))
      add_variable(draft, &(OrrLaunchWord){option->text + strlen("--env="), option->place,
                                           option->unresolved});
    else if (option->text[0] == '-')
      add_option(draft, option);
  }
}

static void add_surroundings(OrrLaunchDraft *draft, const OrrServerCommand *found) {
  const GPtrArray *environment = found->command->environment;
  for (guint i = 0; environment && i < environment->len; i++)
    add_variable(draft, environment->pdata[i]);
  add_options(draft, found);
  if (found->image)
    add_plain(draft, "image", found->image,
              found->command->image ? found->command->image_place : found->place);
}

/* --- Settings of a command --- */

static const OrrLaunchRule *rule_named(const OrrLaunchSetting *setting) {
  return orr_launch_rule_find(setting->dialect, setting->key);
}

/* In a config, "no-enable-x: true" is the flag's opposite, as on the command line. */
static void turn_negated(OrrLaunchDraft *draft, guint first) {
  for (guint i = first; i < draft->settings->len; i++) {
    OrrLaunchSetting *setting = draft->settings->pdata[i];
    if (rule_named(setting) || !g_str_has_prefix(setting->key, "no-")) continue;
    const OrrLaunchRule *rule = orr_launch_rule_find(setting->dialect, setting->key + 3);
    if (!rule || rule->arity != ORR_LAUNCH_FLAG) continue;
    const gboolean on = setting->value && g_ascii_strcasecmp(setting->value, "true") == 0;
    memmove(setting->key, setting->key + 3, strlen(setting->key) - 2);
    g_free(setting->value);
    setting->value = g_strdup(on ? "false" : "true");
  }
}

/* argparse takes the beginning of an option where only one option begins so: --nccl-init. */
static void complete_key(OrrLaunchSetting *setting) {
  const char *found = NULL;
  gsize found_length = 0;
  const OrrLaunchRule *rule;
  for (guint i = 0; (rule = orr_launch_rule_at(setting->dialect, i)); i++)
    for (const char *at = rule->keys; *at; at += strspn(at, " ")) {
      const gsize length = strcspn(at, " ");
      if (strncmp(at, setting->key, strlen(setting->key)) == 0 && !strchr(setting->key, '.') &&
          memchr(at, '.', length) == NULL) {
        if (found) return;
        found = at;
        found_length = length;
      }
      at += length;
    }
  if (!found) return;
  g_free(setting->key);
  setting->key = g_strndup(found, found_length);
}

static void complete_keys(OrrLaunchDraft *draft, const OrrServerCommand *found, guint first) {
  if (found->dialect->is_written_in_full) return;
  for (guint i = first; i < draft->settings->len; i++)
    if (!rule_named(draft->settings->pdata[i])) complete_key(draft->settings->pdata[i]);
}

/* "$CONC" in a file that the script writes, where nobody knows the variable. */
static void mark_unknown(OrrLaunchDraft *draft, guint first) {
  for (guint i = first; i < draft->settings->len; i++) {
    OrrLaunchSetting *setting = draft->settings->pdata[i];
    const char *name = setting->value && setting->value[0] == '$' ? setting->value + 1 : "";
    if (!g_ascii_isalpha(*name) || setting->is_unresolved) continue;
    setting->is_unresolved = TRUE;
    setting->unresolved = g_strdup(name);
  }
}

/* The file that a server's own option names: its keys are settings too. */
static void add_config(OrrLaunchDraft *draft, const OrrServerCommand *found, const char *option) {
  const OrrLaunchSetting *setting = orr_launch_draft_find(draft, found->dialect, option);
  const char *path = setting && !setting->is_unresolved ? setting->value : NULL;
  OrrLaunchSource *source = path ? orr_launch_form_source(draft, path) : NULL;
  if (!path) return;
  if (!source)
    return orr_launch_draft_bad(draft, setting, "the server reads '%s': give it as another FILE",
                                path);
  source->is_used = TRUE;
  g_autoptr(OrrNode) tree =
      orr_yaml_parse(source->text, source->length, g_intern_string(source->name), draft->diags);
  const guint first = draft->settings->len;
  if (tree) orr_launch_tree(draft, found->dialect, tree, NULL);
  mark_unknown(draft, first);
  turn_negated(draft, first);
}

/* Moves the settings from @from on to @to, an earlier place. */
static void move_settings(OrrLaunchDraft *draft, guint from, guint to) {
  g_autoptr(GPtrArray) moved = g_ptr_array_new();
  while (draft->settings->len > from)
    g_ptr_array_insert(moved, 0,
                       g_ptr_array_steal_index(draft->settings, draft->settings->len - 1));
  for (guint i = 0; i < moved->len; i++)
    g_ptr_array_insert(draft->settings, (int)(to + i), moved->pdata[i]);
}

/* The model comes first: what other settings mean depends on it. */
static void put_model_first(OrrLaunchDraft *draft, guint first) {
  for (guint i = first; i < draft->settings->len; i++) {
    const OrrLaunchRule *rule = rule_named(draft->settings->pdata[i]);
    if (!rule || g_strcmp0(rule->path, "model") != 0) continue;
    gpointer setting = g_ptr_array_steal_index(draft->settings, i);
    g_ptr_array_insert(draft->settings, (int)first, setting);
  }
}

/* Whether an option of @found names the model. */
static gboolean names_model(OrrLaunchDraft *draft, const OrrServerCommand *found) {
  return !found->dialect->stack || found->dialect->has_model_option ||
         orr_launch_draft_find(draft, found->dialect, "model") != NULL;
}

/* A word without dashes: the model of vLLM and TensorRT-LLM. */
static void add_rest(OrrLaunchDraft *draft, const OrrServerCommand *found, const GPtrArray *rest) {
  ORR_EACH_POINTER_AT(i, const OrrLaunchWord, argument, rest) {
    if (argument->unresolved && (i > 0 || names_model(draft, found))) {
      orr_launch_draft_remark(draft, "%s is not set: taken as no further options",
                              argument->unresolved);
      continue;
    }
    if (i > 0 || found->dialect->takes_no_words) {
      orr_diags_error(draft->diags, argument->place, "%s does not take the argument '%s'",
                      found->dialect->name, argument->text);
      continue;
    }
    OrrLaunchSetting *setting =
        orr_launch_draft_add(draft, found->dialect, "model", argument->text, argument->place);
    g_free(setting->written);
    setting->written = g_strdup(argument->text);
    setting->is_unresolved = argument->unresolved != NULL;
    setting->unresolved = g_strdup(argument->unresolved);
  }
}

/* Divides the words of a line that holds the options of an engine and of a load: a word without
 * dashes belongs to the option before it. The caller frees both. */
static void divide(const OrrServerCommand *found, GPtrArray **ret_engine, GPtrArray **ret_load) {
  GPtrArray *engine = g_ptr_array_new(), *load = g_ptr_array_new(), *current = NULL;
  for (guint i = found->first; i < found->command->words->len; i++) {
    OrrLaunchWord *next = found->command->words->pdata[i];
    g_autofree char *key = g_strndup(next->text, strcspn(next->text, "="));
    for (char *c = key; *c; c++) *c = *c == '_' ? '-' : g_ascii_tolower(*c);
    const char *bare = key + strspn(key, "-");
    const char *positive = g_str_has_prefix(bare, "no-") ? bare + 3 : bare;
    if (next->text[0] == '-' && next->text[1] && !g_ascii_isdigit(next->text[1]))
      current = orr_launch_rule_find(found->load, bare)          ? load
                : orr_launch_rule_find(found->dialect, positive) ? engine
                                                                 : load;
    if (current) g_ptr_array_add(current, next); /* else a subcommand: throughput */
  }
  *ret_engine = engine;
  *ret_load = load;
}

/* Words without dashes in a load name subcommands: token-norm-dist, throughput. */
static void add_load(OrrLaunchDraft *draft, const OrrLaunchDialect *dialect, const GPtrArray *words,
                     guint first) {
  g_autoptr(GPtrArray) subcommands = g_ptr_array_new();
  orr_launch_argv(draft, dialect, words, first, subcommands);
}

/* The words of @found as settings of its dialect, and of its load's. */
static void add_words(OrrLaunchDraft *draft, const OrrServerCommand *found, GPtrArray *rest) {
  if (found->dialect->has_subcommands)
    return add_load(draft, found->dialect, found->command->words, found->first);
  if (!found->load)
    return orr_launch_argv(draft, found->dialect, found->command->words, found->first, rest);
  g_autoptr(GPtrArray) engine = NULL, load = NULL, subcommands = g_ptr_array_new();
  divide(found, &engine, &load);
  orr_launch_argv(draft, found->dialect, engine, 0, subcommands);
  add_load(draft, found->load, load, 0);
}

/* A benchmark's line is a load, and a router's a router, by its name alone, with its program's own
 * defaults. */
static void add_program(OrrLaunchDraft *draft, const OrrServerCommand *found) {
  const OrrLaunchDialect *load = found->load ? found->load : found->dialect;
  if (!found->program || load->stack || !orr_launch_rule_find(load, "program.name")) return;
  OrrLaunchSetting *setting =
      orr_launch_draft_add(draft, load, "program.name", found->program, found->place);
  g_free(setting->written);
  setting->written = g_strdup(found->program);
}

void orr_launch_server_settings_add(OrrLaunchDraft *draft, const OrrServerCommand *found) {
  const char *only = found->dialect->only_word, *config = found->dialect->config;
  const gboolean is_client = !found->dialect->stack && !only;
  if (!is_client) add_surroundings(draft, found);
  const guint first = draft->settings->len;
  if (only) {
    const OrrLaunchWord *word = found->command->words->pdata[found->first];
    add_plain(draft, only, word->text, word->place);
    return;
  }
  g_autoptr(GPtrArray) rest = g_ptr_array_new();
  add_words(draft, found, rest);
  complete_keys(draft, found, first);
  add_rest(draft, found, rest);
  if (found->load || draft->settings->len == first) add_program(draft, found);
  const guint n_argv = draft->settings->len;
  if (found->dialect->stack) add_config(draft, found, config ? config : "config");
  if (!found->dialect->config_wins) move_settings(draft, n_argv, first);
  orr_launch_serving_expand(draft, first);
  put_model_first(draft, first);
}
