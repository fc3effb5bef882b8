/*
 * cli.c - finds the command, parses its options and runs it.
 *
 *   orrery [--library DIR]... VERB [OPTION]... [ARGUMENT]...
 *   orrery help [VERB | --man | --completion [SHELL]] | --help | --version
 */
#include "sim/cli/cli.h"

#ifndef ORR_VERSION
#define ORR_VERSION "unknown" /* meson.build defines it */
#endif

/* As `orrery help` lists them, a group after another. To add one: see cli.h. */
static const OrrCommand *const commands[] = {
    &orr_verb_run,      &orr_verb_plan,  &orr_verb_sweep, &orr_verb_compare,   &orr_verb_validate,
    &orr_verb_import,   &orr_verb_new,   &orr_verb_check, &orr_verb_calibrate, &orr_verb_list,
    &orr_verb_describe, &orr_verb_query, &orr_verb_plot,  &orr_verb_report,    &orr_verb_db,
};

/* Verbs that are parts of others now. They work, with a line of advice on stderr. */
static const struct {
  const char *old;
  const OrrCommand *verb, *part;
} renamed[] = {
    {"advise", &orr_verb_plan, &orr_verb_plan_campaign},
    {"capacity", &orr_verb_plan, &orr_verb_plan_rate},
    {"cost", &orr_verb_calibrate, &orr_verb_calibrate_cost},
    {"explain", &orr_verb_compare, &orr_verb_compare_trace},
    {"fit", &orr_verb_calibrate, &orr_verb_calibrate_stack},
    {"log", &orr_verb_db, &orr_verb_db_log},
    {"schema", &orr_verb_describe, &orr_verb_describe_schema},
};

/* Options that other words say now. They work, with a line of advice on stderr. */
static const struct {
  const char *verb, *old, *now; /* "": the value alone */
  const char *key;              /* in front of the value; or NULL */
} renamed_options[] = {
    {"calibrate", "--doctor", "doctor"},
    {"calibrate", "--raw", ""},
    {"compare", "--out", "--output"},
    {"import", "--op", "--collective"},
    {"import", "--sent", ""},
    {"plan", "--devices", "--device"},
    {"plan", "--tpot-p99", "--tpot"},
    {"plan", "--ttft-p99", "--ttft"},
    {"query", "--list", ""},
    {"run", "--fidelity", "--set", "fidelity="},
    {"run", "--measured", "--rows"},
};

/* GOption replaces an array at each parse, so options before and after the verb have an array
 * each. */
static char **folders_before, **folders_after;
static gboolean asked_help, asked_version;

#define LIBRARY_SENTENCE                                                                           \
  "Search DIR for documents before ORRERY_PATH and the shipped library; may be repeated"

static const GOptionEntry before_verb[] = {
    {"library", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &folders_before, LIBRARY_SENTENCE, "DIR"},
    {"help", 'h', 0, G_OPTION_ARG_NONE, &asked_help, "Show help", NULL},
    {"version", 0, 0, G_OPTION_ARG_NONE, &asked_version, "Show the version", NULL},
    {NULL},
};

static const GOptionEntry after_verb[] = {
    {"library", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &folders_after, LIBRARY_SENTENCE, "DIR"},
    {"help", 'h', 0, G_OPTION_ARG_NONE, &asked_help, "Show help", NULL},
    {NULL},
};

const char *orr_cli_version(void) { return ORR_VERSION; }

/* --- Errors of the command line --- */

gboolean orr_cli_check_args(char **args, guint min, guint max, const char *what, GError **error) {
  guint n = g_strv_length(args);
  if (n < min) return orr_fault_set(error, ORR_FAULT_USAGE, "%s", what);
  if (n > max)
    return orr_fault_set(error, ORR_FAULT_USAGE, "'%s' is one argument too many: %s", args[max],
                         what);
  return TRUE;
}

int orr_cli_unknown(const char *what, const char *word, const char *const *known, GError **error) {
  const char *nearest = orr_diag_nearest_word(word, known);
  const gboolean is_known = nearest && strcmp(nearest, word) == 0; /* and no help as a hint */
  g_autofree char *all = g_strjoinv(", ", (char **)known);
  g_autofree char *hint =
      nearest && !is_known ? g_strdup_printf(": did you mean '%s'?", nearest) : g_strdup("");
  g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "unknown %s '%s'%s (known: %s)", what, word, hint,
              *all ? all : "none");
  return 2;
}

static void add_option_names(GPtrArray *names, const GOptionEntry *entries) {
  for (const GOptionEntry *entry = entries; entry && entry->long_name; entry++)
    g_ptr_array_add(names, (char *)entry->long_name);
}

/* Converts GOption's error to ORR_FAULT_USAGE; for an unknown option, adds the nearest known
 * one. */
static void set_option_fault(const GError *reason, const GOptionEntry *own,
                             const GOptionEntry *common, GError **error) {
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  const char *dashes = strstr(reason->message, "--");
  const char *nearest = NULL;
  add_option_names(names, own);
  add_option_names(names, common);
  g_ptr_array_add(names, NULL);
  if (g_error_matches(reason, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION) && dashes)
    nearest = orr_diag_nearest_word(dashes + 2, (const char *const *)names->pdata);
  g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "%s%s%s%s", reason->message,
              nearest ? ": did you mean '--" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

/* --- Help --- */

static void print_options(const GOptionEntry *entries) {
  for (const GOptionEntry *entry = entries; entry && entry->long_name; entry++) {
    g_autofree char *short_name =
        entry->short_name ? g_strdup_printf("-%c, ", entry->short_name) : g_strdup("");
    g_autofree char *name = g_strdup_printf("%s--%s%s%s", short_name, entry->long_name,
                                            entry->arg_description ? " " : "",
                                            entry->arg_description ? entry->arg_description : "");
    const int column = printf("  %-26s", name);
    orr_show_wrapped(entry->description, 29, (guint)column);
  }
}

static int print_help(void) {
  printf("Orrery simulates AI clusters and the work that runs on them.\n\n"
         "usage: orrery [--library DIR]... VERB [OPTION]... [ARGUMENT]...\n\n");
  for (guint i = 0; i < G_N_ELEMENTS(commands); i++) {
    if (i == 0 || strcmp(commands[i]->group, commands[i - 1]->group) != 0)
      printf("%s%s\n", i > 0 ? "\n" : "", commands[i]->group);
    printf("  %-10s %s\n", commands[i]->verb, commands[i]->sentence);
  }
  printf("\n  %-10s %s\n\n", "help",
         "Explain a verb and its options; --man prints a manual page, --completion bash, fish or "
         "zsh a script.");
  print_options(before_verb);
  printf("\nTry: orrery run gpt3-175b-1024-a100\n");
  return 0;
}

/* @of: the verb that @command is a part of, or NULL. */
static void print_usage(const OrrCommand *command, const OrrCommand *of) {
  printf("%s\n\nusage: orrery %s%s%s %s\n\n", command->sentence, of ? of->verb : "", of ? " " : "",
         command->verb, command->usage);
  if (command->more) {
    orr_show_wrapped(command->more, 0, 0);
    putchar('\n');
  }
  print_options(command->options);
}

static int print_command_help(const OrrCommand *command, const OrrCommand *of) {
  print_usage(command, of);
  for (const OrrCommand *const *part = command->parts; part && *part; part++) {
    printf("%s %s: ", command->part, (*part)->verb);
    print_usage(*part, command);
    putchar('\n');
  }
  print_options(after_verb);
  return 0;
}

/* --- Commands --- */

static const OrrCommand *find_command(const char *verb, GError **error) {
  const char *verbs[G_N_ELEMENTS(commands) + 2] = {NULL};
  for (guint i = 0; i < G_N_ELEMENTS(commands); i++) {
    if (strcmp(commands[i]->verb, verb) == 0) return commands[i];
    verbs[i] = commands[i]->verb;
  }
  verbs[G_N_ELEMENTS(commands)] = "help";
  orr_cli_unknown("verb", verb, verbs, error);
  return NULL;
}

/* Whether @arg is the option @option ("--out"), alone, as "--out=VALUE" or by its short name. */
static gboolean is_option(const OrrCommand *command, const char *arg, const char *option) {
  const gsize length = option ? strlen(option) : 0;
  if (!option || option[0] != '-') return FALSE;
  if (strncmp(arg, option, length) == 0 && (arg[length] == '\0' || arg[length] == '=')) return TRUE;
  const GOptionEntry *entry = command->options;
  while (entry && entry->long_name && strcmp(entry->long_name, option + 2) != 0) entry++;
  return entry && entry->short_name && arg[0] == '-' && arg[1] == entry->short_name;
}

/* Whether @arg chooses @part: an option, or a word. */
static gboolean chooses(const OrrCommand *part, const char *arg, gboolean is_word) {
  return is_option(part, arg, part->verb) || is_option(part, arg, part->also_option) ||
         (is_word && strcmp(arg, part->verb) == 0);
}

/* The part of @command that @args names ("import nccl-tests"). NULL: none, with an error where
 * @command does not run without one. */
static const OrrCommand *find_part(const OrrCommand *command, char **args, GError **error) {
  g_autoptr(GPtrArray) words = g_ptr_array_new();
  for (guint i = 0; args[i]; i++) /* the word of a part comes first, or after options */
    for (const OrrCommand *const *part = command->parts; part && *part; part++)
      if (chooses(*part, args[i],
                  i == 0 || (args[0][0] == '-' && (!command->run || command->has_late_parts))))
        return *part;
  for (const OrrCommand *const *part = command->parts; part && *part; part++)
    g_ptr_array_add(words, (char *)(*part)->verb);
  if (command->run) return NULL;
  g_ptr_array_add(words, NULL);
  if (args[0] && args[0][0] != '-') {
    orr_cli_unknown(command->part, args[0], (const char *const *)words->pdata, error);
    return NULL;
  }
  g_autofree char *all = g_strjoinv(", ", (char **)words->pdata);
  return orr_fault_null(error, ORR_FAULT_USAGE, "%s takes a %s (%s)", command->verb, command->part,
                        all);
}

static int print_text(char *text) {
  fputs(text, stdout);
  g_free(text);
  return 0;
}

static int print_completion(const char *shell, GError **error) {
  char *text = orr_manual_completion(shell, commands, G_N_ELEMENTS(commands), error);
  return text ? print_text(text) : 2;
}

static int run_help(char **args, GError **error) {
  if (!args[0]) return print_help();
  if (strcmp(args[0], "--man") == 0)
    return print_text(orr_manual_page(commands, G_N_ELEMENTS(commands)));
  if (strcmp(args[0], "--completion") == 0)
    return print_completion(args[1] ? args[1] : "bash", error);
  for (guint i = 0; i < G_N_ELEMENTS(renamed); i++)
    if (strcmp(renamed[i].old, args[0]) == 0)
      return print_command_help(renamed[i].part, renamed[i].verb);
  const OrrCommand *command = find_command(args[0], error);
  if (!command) return 2;
  const OrrCommand *part = args[1] ? find_part(command, args + 1, error) : NULL;
  if (part) return print_command_help(part, command);
  return error && *error ? 2 : print_command_help(command, NULL);
}

/* --- Short options --- */

static const GOptionEntry *find_option(const GOptionEntry *const tables[2], const char *name,
                                       gsize length) {
  for (guint i = 0; i < 2; i++)
    for (const GOptionEntry *entry = tables[i]; entry && entry->long_name; entry++)
      if (length == 0
              ? entry->short_name == *name
              : strlen(entry->long_name) == length && strncmp(entry->long_name, name, length) == 0)
        return entry;
  return NULL;
}

static gboolean takes_value(const GOptionEntry *entry) {
  return entry && entry->arg != G_OPTION_ARG_NONE && entry->arg != G_OPTION_ARG_CALLBACK;
}

/* Splits "-j2" into "-j" and "2", since GOption reads only separate values; flags can come first
 * ("-vj2"). Returns whether the next argument is the option's value. */
static gboolean add_short(const GOptionEntry *const tables[2], const char *arg, GStrvBuilder *out) {
  const char *at = arg + 1;
  while (*at && !takes_value(find_option(tables, at, 0))) at++;
  if (*at && at[1]) {
    g_autofree char *option = g_strndup(arg, (gsize)(at + 1 - arg));
    g_strv_builder_add_many(out, option, at + 1, NULL);
    return FALSE;
  }
  g_strv_builder_add(out, arg);
  return *at != '\0';
}

static GStrv split_short_options(char **args, const GOptionEntry *own, const GOptionEntry *common) {
  const GOptionEntry *const tables[2] = {own, common};
  g_autoptr(GStrvBuilder) out = g_strv_builder_new();
  gboolean is_value = TRUE; /* the verb */
  for (; *args && !(strcmp(*args, "--") == 0 && !is_value); args++) {
    const char *arg = *args;
    if (!is_value && arg[0] == '-' && arg[1] && arg[1] != '-') {
      is_value = add_short(tables, arg, out);
      continue;
    }
    is_value = !is_value && g_str_has_prefix(arg, "--") &&
               takes_value(find_option(tables, arg + 2, strlen(arg + 2)));
    g_strv_builder_add(out, arg);
  }
  g_strv_builder_addv(out, (const char **)args);
  return g_strv_builder_end(out);
}

/* Parses the options in @args (skipping argv[0]) and removes them from it. */
static gboolean parse(GOptionContext *context, const GOptionEntry *own, const GOptionEntry *common,
                      char ***args, GError **error) {
  g_autoptr(GError) reason = NULL;
  g_option_context_set_help_enabled(context, FALSE);
  if (own) g_option_context_add_main_entries(context, own, NULL);
  g_option_context_add_main_entries(context, common, NULL);
  if (!g_option_context_parse_strv(context, args, &reason)) {
    set_option_fault(reason, own, common, error);
    return FALSE;
  }
  return TRUE;
}

static OrrLibrary *open_library(GError **error) {
  g_autoptr(GPtrArray) folders = g_ptr_array_new();
  for (char **folder = folders_before; folder && *folder; folder++)
    g_ptr_array_add(folders, *folder);
  for (char **folder = folders_after; folder && *folder; folder++)
    g_ptr_array_add(folders, *folder);
  for (guint i = 0; i < folders->len; i++) {
    if (g_file_test(folders->pdata[i], G_FILE_TEST_IS_DIR)) continue;
    return orr_fault_null(error, ORR_FAULT_USAGE, "--library %s: no such folder",
                          (char *)folders->pdata[i]);
  }
  orr_options.has_library = folders->len > 0;
  g_ptr_array_add(folders, NULL);
  return orr_library_new((const char *const *)folders->pdata);
}

static gboolean is_help(char **args) {
  return g_strv_contains((const char *const *)args, "--help") ||
         g_strv_contains((const char *const *)args, "-h");
}

/* Removes the first @word of @args, if any; of "--word=VALUE" the value is left. */
static void remove_word(char **args, const char *word) {
  const gsize length = strlen(word);
  for (; *args && strcmp(*args, word) != 0; args++)
    if (*word == '-' && strncmp(*args, word, length) == 0 && (*args)[length] == '=') {
      memmove(*args, *args + length + 1, strlen(*args + length + 1) + 1);
      return;
    }
  for (g_free(*args); *args; args++) args[0] = args[1];
}

/* Whether @command has the option @word ("--trace"). */
static gboolean has_option(const OrrCommand *command, const char *word) {
  const GOptionEntry *entry = command->options;
  while (entry && entry->long_name && strcmp(entry->long_name, word + strspn(word, "-")) != 0)
    entry++;
  return entry && entry->long_name;
}

static void move_to_end(char **arg) {
  char *moved = *arg;
  for (; arg[1]; arg++) arg[0] = arg[1];
  *arg = moved;
}

/* Puts today's words in place of @arg[0], where it is a renamed option of @verb. */
static void rename_option(const char *verb, char **arg) {
  for (guint i = 0; i < G_N_ELEMENTS(renamed_options); i++) {
    const char *old = renamed_options[i].old, *now = renamed_options[i].now;
    const char *key = renamed_options[i].key ? renamed_options[i].key : "";
    const gsize length = strcspn(*arg, "=");
    if (strcmp(verb, renamed_options[i].verb) != 0 || strlen(old) != length ||
        strncmp(*arg, old, length) != 0)
      continue;
    fprintf(stderr, "orrery: '%s%s' is now '%s%s%s'; the old name works for one more release\n",
            old, *now ? "" : " VALUE", *now ? now : "VALUE", *key ? " " : "", key);
    const gboolean is_split = (*key || !*now) && !(*arg)[length] && arg[1];
    const char *value = is_split ? arg[1] : (*arg)[length] ? *arg + length + 1 : NULL;
    char *text = g_strconcat(now, value && *now ? "=" : "", value ? key : "", value, NULL);
    if (is_split) remove_word(arg + 1, arg[1]);
    g_free(*arg);
    *arg = text;
    if (!*text) remove_word(arg, text);
    if (value && !*now) move_to_end(arg); /* where today's word stands, behind the others */
    return;
  }
}

/* The command that @args ask for: a verb or, with @ret_of, a part of the verb @ret_of. NULL with
 * @error. One that only help is asked of need not be able to run. */
static const OrrCommand *find_asked(char **args, const OrrCommand **ret_of, GError **error) {
  for (guint i = 0; i < G_N_ELEMENTS(renamed); i++) {
    if (strcmp(renamed[i].old, args[0]) != 0) continue;
    *ret_of = renamed[i].verb;
    fprintf(stderr, "orrery: '%s' is now '%s %s'; the old name works for one more release\n",
            args[0], renamed[i].verb->verb, renamed[i].part->verb);
    return renamed[i].part;
  }
  const OrrCommand *command = find_command(args[0], error);
  if (!command || (command->parts && args[1] && !args[2] && is_help(args + 1))) return command;
  const OrrCommand *part = find_part(command, args + 1, error);
  if (!part) return command->run ? command : NULL;
  if (!has_option(part, part->verb)) remove_word(args + 1, part->verb);
  *ret_of = command;
  return part;
}

int orr_cli_run(char **argv, GError **error) {
  g_autoptr(GOptionContext) context = g_option_context_new(NULL);
  g_auto(GStrv) all = g_strdupv(argv);
  g_option_context_set_strict_posix(context, TRUE); /* stop at the verb */
  if (!parse(context, NULL, before_verb, &all, error)) return 2;
  char **args = all[0] ? all + 1 : all; /* the verb and its arguments */
  if (asked_version) {
    printf("orrery %s\n", orr_cli_version());
    return 0;
  }
  if (asked_help) return run_help(args, error);
  if (!args[0]) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "no verb given: 'orrery help' lists the verbs");
    return 2;
  }
  if (strcmp(args[0], "help") == 0) return run_help(args + 1, error);
  guint n_words = 1;
  while (args[n_words] && strcmp(args[n_words], "--") != 0) n_words++;
  while (n_words-- > 1) rename_option(args[0], args + n_words); /* what moves to the end is done */
  const OrrCommand *of = NULL, *command = find_asked(args, &of, error);
  if (!command) return 2;
  g_autoptr(GOptionContext) own = g_option_context_new(NULL);
  g_auto(GStrv) rest = split_short_options(args, command->options, after_verb);
  if (!parse(own, command->options, after_verb, &rest, error)) return 2;
  if (asked_help) return print_command_help(command, of);
  g_autoptr(OrrLibrary) library = open_library(error);
  if (!library) return 2;
  char **plain = rest + 1;
  if (*plain && strcmp(*plain, "--") == 0) plain++;
  return command->run(library, plain, error);
}
