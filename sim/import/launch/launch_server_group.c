/*
 * launch_server_group.c - the commands of one input together: servers that are replicas, nodes of
 * one server, servers that prefill and servers that decode, alternatives; and the load.
 */
#include "sim/import/launch/launch_private.h"
#include "sim/import/launch/launch_serving.h"

/* Of one input; a deployment of more is a manifest with replicas. */
enum { MOST_SERVERS = 64, MOST_WORDS = 10000 };

/* --- Several servers --- */

/* Settings in which servers that are replicas of each other may differ. */
static gboolean is_place(const char *key) {
  static const char *const keys[] = {"port",
                                     "host",
                                     "nccl-port",
                                     "disaggregation-bootstrap-port",
                                     "base-gpu-id",
                                     "dist-init-addr",
                                     "node-rank",
                                     "disaggregation-ib-device",
                                     "data-parallel-start-rank",
                                     "data-parallel-rank",
                                     "data-parallel-address",
                                     "headless",
                                     NULL};
  return g_strv_contains(keys, key);
}

/* All that matters of a draft's settings, to compare servers. Newly allocated. */
static char *essence(OrrLaunchDraft *draft) {
  g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
  ORR_EACH_POINTER(const OrrLaunchSetting, setting, draft->settings) {
    const OrrLaunchRule *rule = orr_launch_rule_find(setting->dialect, setting->key);
    if (!setting->dialect->stack || is_place(setting->key)) continue;
    if (rule && rule->verdict == ORR_LAUNCH_IRRELEVANT) continue;
    g_ptr_array_add(lines,
                    g_strdup_printf("%s=%s", setting->key, setting->value ? setting->value : ""));
  }
  g_ptr_array_sort(lines, orr_order_texts);
  g_ptr_array_add(lines, NULL);
  return g_strjoinv("\n", (char **)lines->pdata);
}

static gboolean says(OrrLaunchDraft *draft, const char *key, const char *const *values) {
  const char *value = NULL;
  for (guint i = 0; i < draft->settings->len && !value; i++) {
    const OrrLaunchSetting *setting = draft->settings->pdata[i];
    if (strcmp(setting->key, key) == 0) value = setting->value ? setting->value : "";
  }
  g_autofree char *lower = g_ascii_strdown(value ? value : "", -1);
  return value && g_strv_contains(values, lower);
}

static gboolean has_key(OrrLaunchDraft *draft, const char *key) {
  ORR_EACH_POINTER(const OrrLaunchSetting, setting, draft->settings)
    if (strcmp(setting->key, key) == 0) return TRUE;
  return FALSE;
}

static gboolean prefills(OrrLaunchDraft *draft) {
  static const char *const vllm[] = {"kv_producer", NULL}, *const sglang[] = {"prefill", NULL},
                           *const trtllm[] = {"context", NULL};
  return says(draft, "kv-transfer-config.kv-role", vllm) ||
         says(draft, "disaggregation-mode", sglang) || says(draft, "server-role", trtllm) ||
         has_key(draft, "is-prefill-worker");
}

/* A line for a further node of a server. */
static gboolean is_further_node(OrrLaunchDraft *draft) {
  static const char *const keys[] = {"node-rank", "data-parallel-start-rank", NULL};
  for (const char *const *key = keys; *key; key++) {
    static const char *const first[] = {"0", NULL};
    if (has_key(draft, *key) && !says(draft, *key, first)) return TRUE;
  }
  return has_key(draft, "headless");
}

/* The port of a server, or the one that a benchmark asks, by an option or an address. Newly
 * allocated; NULL: unknown. */
static char *port_of(OrrLaunchDraft *own, const OrrServerCommand *found) {
  static const char *const keys[] = {"port", "base-url", "url", "u", "target", NULL};
  ORR_EACH_POINTER(const OrrLaunchSetting, setting, own->settings) {
    if (!setting->value || !g_strv_contains(keys, setting->key)) continue;
    const char *colon = strrchr(setting->value, ':'), *digits = colon ? colon + 1 : setting->value;
    const gsize n = strspn(digits, "0123456789");
    return n > 0 ? g_strndup(digits, n) : NULL;
  }
  return g_strdup(found->dialect->port);
}

/* The settings of @found in a draft of their own, which the caller frees. */
static OrrLaunchDraft *draft_of(OrrLaunchDraft *draft, const OrrServerCommand *found) {
  OrrLaunchDraft *own = orr_launch_draft_new(draft->library, draft->options);
  g_ptr_array_unref(own->sources);
  own->sources = g_ptr_array_ref(draft->sources);
  own->budget = draft->budget;
  orr_launch_server_settings_add(own, found);
  return own;
}

/* The role of a server among the others. */
typedef struct {
  const OrrServerCommand *found;
  char *essence, *text; /* what matters; all words */
  char *port;           /* where it listens; NULL: unknown */
  gboolean prefills, is_further_node;
} Server;

static void clear_server(gpointer data) {
  Server *server = data;
  ORR_FREE(server->essence, server->text, server->port);
}

/* The command as it was written. Newly allocated. */
static char *text_of(const OrrLaunchCommand *command) {
  GString *text = g_string_new(NULL);
  for (guint i = 0; i < command->words->len; i++)
    g_string_append_printf(text, "%s ", orr_launch_server_word(command, i));
  for (guint i = 0; command->environment && i < command->environment->len; i++)
    g_string_append_printf(text, "%s ", ((OrrLaunchWord *)command->environment->pdata[i])->text);
  return g_string_free(text, FALSE);
}

/* Whether an earlier server has the same words: a page shows one server twice, and a port has one
 * server. Workers of Dynamo have no port: each registers itself with the frontend. */
static gboolean is_repeated(OrrLaunchDraft *draft, const GArray *servers,
                            const OrrServerCommand *found, const char *text) {
  if (found->command->image || strstr(text, "dynamo.")) return FALSE;
  ORR_EACH(const Server, other, servers) {
    if (strcmp(other->text, text) != 0) continue;
    orr_launch_draft_remark(draft,
                            "the server of line %d is the one of line %d: it counts once "
                            "(--set workload.replicas=N says otherwise)",
                            found->place.line, other->found->place.line);
    return TRUE;
  }
  return FALSE;
}

/* Adds the server, unless it is shown again. */
static void note_server(OrrLaunchDraft *draft, GArray *servers, const OrrServerCommand *found) {
  g_autofree char *text = text_of(found->command);
  if (is_repeated(draft, servers, found, text)) return;
  if (servers->len == MOST_SERVERS)
    return orr_diags_error(draft->diags, found->place, "more than %d servers in one input",
                           MOST_SERVERS);
  g_autoptr(OrrLaunchDraft) own = draft_of(draft, found);
  ORR_APPEND(servers, Server,
             {found, essence(own), g_steal_pointer(&text), port_of(own, found), prefills(own),
              is_further_node(own)});
}

static GArray *servers_of(OrrLaunchDraft *draft, const GArray *founds) {
  GArray *servers = g_array_new(FALSE, TRUE, sizeof(Server));
  const guint n_errors = orr_diags_n_errors(draft->diags);
  g_array_set_clear_func(servers, clear_server);
  for (guint i = 0; i < founds->len && orr_diags_n_errors(draft->diags) == n_errors; i++) {
    const OrrServerCommand *found = &g_array_index(founds, OrrServerCommand, i);
    if (found->dialect->stack) note_server(draft, servers, found);
  }
  return servers;
}

static void list_servers(OrrLaunchDraft *draft, const GArray *servers) {
  ORR_EACH_AT(i, const Server, server, servers)
    orr_diags_error(draft->diags, server->found->place,
                    "one of %u servers that differ: --choose %u takes it", servers->len, i + 1);
}

/* The server that the draft is about where nobody chooses; G_MAXUINT: they differ, or the input has
 * none. */
static guint only_server(const GArray *servers) {
  guint first = G_MAXUINT;
  ORR_EACH_AT(i, const Server, server, servers) {
    if ((server->is_further_node && servers->len > 1) || server->prefills) continue;
    if (first == G_MAXUINT) first = i;
    const Server *reference = &g_array_index(servers, Server, first);
    if (strcmp(server->essence, reference->essence) != 0) return G_MAXUINT;
  }
  return first == G_MAXUINT && servers->len > 0 ? 0 : first;
}

/* What --choose N chooses: servers that differ, else benchmarks, else any of the servers. */
typedef struct {
  guint n_loads, main; /* G_MAXUINT: the choice is open, or there is no server */
  gboolean is_of_load;
} Choice;

static Choice choose(OrrLaunchDraft *draft, const GArray *servers, guint n_loads) {
  const gint64 choice = draft->options->choice;
  Choice made = {n_loads, only_server(servers), FALSE};
  made.is_of_load = n_loads > 1 && (servers->len == 0 || made.main != G_MAXUINT);
  const guint most = made.is_of_load ? n_loads : MAX(servers->len, 1);
  if (choice < 0 || choice > most)
    orr_diags_error(draft->diags, (OrrPlace){.file = g_intern_string("--choose")},
                    "%ld is above the input's %u %s%s", choice, most,
                    made.is_of_load ? "benchmark" : "server", most == 1 ? "" : "s");
  else if (choice > 0 && !made.is_of_load && servers->len > 0)
    made.main = (guint)choice - 1;
  else if (made.main == G_MAXUINT)
    list_servers(draft, servers);
  return made;
}

/* The settings of a server, and how many of it a manifest has, whose keys are settings, too. */
static void add_server(OrrLaunchDraft *draft, const OrrServerCommand *found) {
  draft->replicas = MAX(found->command->replicas, 1);
  orr_launch_server_settings_add(draft, found);
}

static void add_others(OrrLaunchDraft *draft, const GArray *servers, const Choice *made) {
  for (guint i = 0; i < servers->len && (draft->options->choice == 0 || made->is_of_load); i++) {
    const Server *server = &g_array_index(servers, Server, i);
    if (i == made->main || (server->is_further_node && !server->prefills)) continue;
    add_server(
        orr_launch_draft_part(draft, server->prefills ? ORR_LAUNCH_PREFILLS : ORR_LAUNCH_SERVES),
        server->found);
  }
}

static gboolean is_load(const OrrServerCommand *found) {
  return !found->dialect->is_for_all && g_str_has_suffix(found->dialect->name, "-bench");
}

static guint count_loads(const GArray *founds) {
  guint n = 0;
  for (guint i = 0; i < founds->len; i++) n += is_load(&g_array_index(founds, OrrServerCommand, i));
  return n;
}

/* The load of the server at @place: the one chosen, the first benchmark after it, else the first of
 * the input. */
static const OrrServerCommand *load_of(const GArray *founds, OrrPlace place, gint64 choice) {
  const OrrServerCommand *load = NULL, *after = NULL;
  ORR_EACH(const OrrServerCommand, found, founds) {
    if (!is_load(found)) continue;
    if (choice > 0 && --choice == 0) return found;
    if (!load) load = found;
    if (!after && found->place.line > place.line) after = found;
  }
  return after ? after : load;
}

static void add_rest_of_input(OrrLaunchDraft *draft, const GArray *founds, OrrPlace place,
                              const Choice *made) {
  const gint64 choice = made->is_of_load ? draft->options->choice : 0;
  const OrrServerCommand *load = load_of(founds, place, choice);
  ORR_EACH(const OrrServerCommand, found, founds)
    if (found->dialect->is_for_all) orr_launch_server_settings_add(draft, found);
  if (load) orr_launch_server_settings_add(draft, load);
  if (made->n_loads > 1 && choice == 0)
    orr_launch_draft_remark(draft, "the input has %u benchmarks: the one of line %d is the load%s",
                            made->n_loads, load->place.line,
                            made->is_of_load ? "; --choose N takes the Nth" : "");
}

/* Whether something shares the load among servers: a router, or servers that prefill for others. */
static gboolean is_shared(const GArray *founds, const GArray *servers) {
  ORR_EACH(const OrrServerCommand, found, founds)
    if (found->dialect->shares_load) return TRUE;
  ORR_EACH(const Server, server, servers)
    if (server->prefills || server->is_further_node) return TRUE;
  return FALSE;
}

/* Of several servers the benchmark asks the one at its port: the others are left out. */
static void keep_asked(OrrLaunchDraft *draft, const GArray *founds, GArray *servers) {
  const OrrServerCommand *load = load_of(founds, (OrrPlace){0}, 0);
  if (!load || servers->len < 2 || count_loads(founds) > 1 || draft->options->choice > 0 ||
      is_shared(founds, servers))
    return;
  g_autoptr(OrrLaunchDraft) own = draft_of(draft, load);
  g_autofree char *port = port_of(own, load);
  guint asked = 0, n_asked = 0;
  ORR_EACH_AT(i, const Server, server, servers) {
    if (!port || g_strcmp0(server->port, port) != 0) continue;
    asked = i;
    n_asked++;
  }
  if (n_asked != 1) return;
  orr_launch_draft_remark(draft,
                          "the benchmark asks port %s: the server of line %d; %u others are left "
                          "out, since nothing shares the load among them",
                          port, g_array_index(servers, Server, asked).found->place.line,
                          servers->len - 1);
  g_array_remove_range(servers, asked + 1, servers->len - asked - 1);
  g_array_remove_range(servers, 0, asked);
}

void orr_launch_server_group_read(OrrLaunchDraft *draft, const GPtrArray *commands) {
  g_autoptr(GArray) founds = g_array_new(FALSE, TRUE, sizeof(OrrServerCommand));
  for (guint i = 0; i < commands->len; i++) {
    OrrServerCommand found;
    const OrrLaunchCommand *command = commands->pdata[i];
    if (!orr_launch_server_recognise(command, &found)) continue;
    if (command->words->len <= MOST_WORDS)
      g_array_append_val(founds, found);
    else
      orr_diags_error(draft->diags, found.place, "a command of more than %d words", MOST_WORDS);
  }
  g_autoptr(GArray) servers = servers_of(draft, founds);
  keep_asked(draft, founds, servers);
  const Choice made = choose(draft, servers, count_loads(founds));
  const OrrServerCommand *found =
      made.main < servers->len ? g_array_index(servers, Server, made.main).found : NULL;
  if (found) {
    add_server(draft, found);
    add_others(draft, servers, &made);
  }
  if (found || servers->len == 0)
    add_rest_of_input(draft, founds, found ? found->place : (OrrPlace){0}, &made);
}
