/*
 * launch_server.c - which program a command runs.
 *
 *   nohup docker run -e A=b vllm/vllm-openai:v0.9.1 --model X > log &
 *         ^container        ^image                  ^first argument
 */
#include "sim/import/launch/launch_form.h"

#include "sim/import/launch/launch_serving.h"

const char *orr_launch_server_word(const OrrLaunchCommand *command, guint i) {
  if (i >= command->words->len) return "";
  return ((const OrrLaunchWord *)command->words->pdata[i])->text;
}

static const char *base_name(const char *text) {
  const char *slash = strrchr(text, '/');
  return slash ? slash + 1 : text;
}

/* --- Programs --- */

/* Words that name a program, and what follows is its arguments. A longer row comes first. */
static const struct {
  const char *words[3];
  const OrrLaunchDialect *dialect;
  const OrrLaunchDialect *load; /* of the same line */
  const char *subcommand;       /* a word anywhere behind; NULL: any line */
} programs[] = {
    {{"vllm", "bench", "serve"}, &orr_dialect_vllm_bench},
    {{"vllm", "bench", "throughput"}, &orr_dialect_vllm, &orr_dialect_offline_bench},
    {{"vllm", "bench", "latency"}, &orr_dialect_vllm, &orr_dialect_offline_bench},
    {{"benchmark_throughput.py"}, &orr_dialect_vllm, &orr_dialect_offline_bench},
    {{"benchmark_latency.py"}, &orr_dialect_vllm, &orr_dialect_offline_bench},
    {{"sglang.bench_offline_throughput"}, &orr_dialect_sglang, &orr_dialect_offline_bench},
    {{"sglang.bench_one_batch"}, &orr_dialect_sglang, &orr_dialect_offline_bench},
    {{"sglang.bench_one_batch_server"}, &orr_dialect_sglang, &orr_dialect_offline_bench},
    {{"trtllm-bench"}, &orr_dialect_dataset_bench, .subcommand = "prepare-dataset"},
    {{"trtllm-bench"}, &orr_dialect_trtllm, &orr_dialect_offline_bench, "latency"},
    {{"trtllm-bench"}, &orr_dialect_trtllm, &orr_dialect_offline_bench},
    {{"prepare_dataset.py"}, &orr_dialect_dataset_bench},
    {{"guidellm", "benchmark"}, &orr_dialect_guidellm_bench},
    {{"inference-perf"}, &orr_dialect_other_client},
    {{"locust"}, &orr_dialect_other_client},
    {{"evalscope", "perf"}, &orr_dialect_other_client},
    {{"token_benchmark_ray.py"}, &orr_dialect_other_client},
    {{"benchmark_serving_multi_turn.py"}, &orr_dialect_other_client},
    {{"benchmark_prefix_caching.py"}, &orr_dialect_other_client},
    {{"vllm", "bench", "sweep"}, &orr_dialect_other_client},
    {{"vllm", "serve"}, &orr_dialect_vllm},
    {{"vllm.entrypoints.openai.api_server"}, &orr_dialect_vllm},
    {{"vllm.entrypoints.api_server"}, &orr_dialect_vllm},
    {{"vllm.entrypoints.cli.main", "serve"}, &orr_dialect_vllm},
    {{"api_server.py"}, &orr_dialect_vllm},
    {{"dynamo.vllm"}, &orr_dialect_vllm},
    {{"dynamo.frontend"}, &orr_dialect_dynamo_frontend},
    {{"sglang", "serve"}, &orr_dialect_sglang},
    {{"sglang.launch_server"}, &orr_dialect_sglang},
    {{"sglang_router.launch_server"}, &orr_dialect_sglang, &orr_dialect_sglang_router},
    {{"sglang_router.launch_router"}, &orr_dialect_sglang_router},
    {{"sglang-router", "launch"}, &orr_dialect_sglang_router},
    {{"smg", "launch"}, &orr_dialect_sglang_router},
    {{"dynamo.sglang"}, &orr_dialect_sglang},
    {{"dynamo.sglang.worker"}, &orr_dialect_sglang},
    {{"dynamo.sglang.decode_worker"}, &orr_dialect_sglang},
    {{"sglang.bench_serving"}, &orr_dialect_sglang_bench},
    {{"bench_serving.py"}, &orr_dialect_sglang_bench},
    {{"trtllm-serve", "disaggregated"}}, /* the router, and workers that read its config */
    {{"trtllm-serve", "disaggregated_mpi_worker"}},
    {{"trtllm-serve", "mm_embedding_serve"}},
    {{"trtllm-serve", "serve"}, &orr_dialect_trtllm},
    {{"trtllm-serve"}, &orr_dialect_trtllm},
    {{"dynamo.trtllm"}, &orr_dialect_trtllm},
    {{"benchmark_serving.py"}, &orr_dialect_vllm_bench},
    {{"tensorrt_llm.serve.scripts.benchmark_serving"}, &orr_dialect_vllm_bench},
    {{"run_benchmark_serving"}, &orr_dialect_inferencex_bench},
    {{"genai-perf", "profile"}, &orr_dialect_aiperf_bench},
    {{"genai-perf"}, &orr_dialect_aiperf_bench},
    {{"aiperf", "profile"}, &orr_dialect_aiperf_bench},
    {{"aiperf"}, &orr_dialect_aiperf_bench},
};

static gboolean has_subcommand(const OrrLaunchCommand *command, guint from, const char *word) {
  for (guint i = from; word && i < command->words->len; i++)
    if (strcmp(orr_launch_server_word(command, i), word) == 0) return TRUE;
  return !word;
}

/* "trtllm-bench latency": the words of row @row, interned. */
static const char *name_of(guint row) {
  g_autoptr(GString) name = g_string_new(programs[row].words[0]);
  for (guint n = 1; n < G_N_ELEMENTS(programs[row].words) && programs[row].words[n]; n++)
    g_string_append_printf(name, " %s", programs[row].words[n]);
  if (programs[row].subcommand) g_string_append_printf(name, " %s", programs[row].subcommand);
  return g_intern_string(name->str);
}

/* How many words of row @row stand at @at; 0: it is not there. */
static guint matches(const OrrLaunchCommand *command, guint at, guint row) {
  guint n = 0;
  for (; n < G_N_ELEMENTS(programs[row].words) && programs[row].words[n]; n++) {
    const char *text = orr_launch_server_word(command, at + n);
    if (strcmp(n == 0 ? base_name(text) : text, programs[row].words[n]) != 0) return 0;
  }
  return has_subcommand(command, at + n, programs[row].subcommand) ? n : 0;
}

/* Words after which a program's name is only a name. */
static gboolean names_things(const char *option) {
  static const char *const names[] = {"--name",           "--job-name", "-J",
                                      "--container-name", "--hostname", "which",
                                      "install",          "uninstall",  NULL};
  return g_strv_contains(names, option);
}

static gboolean find_program(const OrrLaunchCommand *command, guint from,
                             OrrServerCommand *ret_found) {
  for (guint i = from; i < command->words->len; i++)
    for (guint row = 0; row < G_N_ELEMENTS(programs); row++) {
      const guint n = matches(command, i, row);
      if (n == 0 || (i > from && names_things(orr_launch_server_word(command, i - 1)))) continue;
      ret_found->dialect = programs[row].dialect;
      ret_found->load = programs[row].load;
      ret_found->program = name_of(row);
      ret_found->first = i + n;
      return TRUE;
    }
  return FALSE;
}

/* --- Containers --- */

static gboolean is_image(const char *text) {
  static const char *const engines[] = {"vllm", "sglang", "tensorrt-llm", "tensorrtllm", NULL};
  if (text[0] == '-' || text[0] == '/' || text[0] == '.' || text[0] == '~' || text[0] == '$' ||
      !strpbrk(text, "/:") || strstr(text, "="))
    return FALSE;
  for (const char *const *engine = engines; *engine; engine++)
    if (strstr(text, *engine)) return TRUE;
  return FALSE;
}

static const char scheme[] = "docker://";

/* Where the options of `docker run` begin, or the options of `apptainer run docker://IMAGE`, which
 * also starts the image's entry point; 0: there is none. */
static guint find_container(const OrrLaunchCommand *command) {
  static const char *const runners[] = {"docker", "podman", "nerdctl", NULL};
  static const char *const builders[] = {"apptainer", "singularity", NULL};
  for (guint i = 0; i + 1 < command->words->len; i++) {
    const char *name = base_name(orr_launch_server_word(command, i));
    gboolean is_runner = g_strv_contains(runners, name);
    for (guint k = i + 2; g_strv_contains(builders, name) && k < command->words->len; k++)
      is_runner |= g_str_has_prefix(orr_launch_server_word(command, k), scheme);
    if (is_runner && strcmp(orr_launch_server_word(command, i + 1), "run") == 0) return i + 2;
  }
  return 0;
}

/* Where the image stands among the words from @from on; 0: nowhere. */
static guint find_image(const OrrLaunchCommand *command, guint from) {
  static const char *const taking[] = {
      "-v", "--volume",   "--name", "-e",      "--env",     "--mount", "-w", "--entrypoint",
      "-p", "--hostname", "-l",     "--label", "--network", "--gpus",  NULL};
  for (guint i = from; i < command->words->len; i++)
    if (is_image(orr_launch_server_word(command, i)) &&
        !g_strv_contains(taking, orr_launch_server_word(command, i - 1)))
      return i;
  return 0;
}

/* The image of a container that runs the program before word @end, whatever the image's name is; 0:
 * none is seen. */
static guint image_before(const OrrLaunchCommand *command, guint from, guint end) {
  for (guint i = end; i-- > from;) {
    const char *text = orr_launch_server_word(command, i);
    if (strpbrk(text, "/:") && !strchr("-/.~$", text[0]) && !strchr(text, '=')) return i;
  }
  return 0;
}

/* The engine that an image starts where no command follows, but arguments do. */
static const OrrLaunchDialect *entrypoint(const char *image, const char *first) {
  static const char *const commands[] = {"python",     "python3",   "torchrun",
                                         "accelerate", "deepspeed", NULL};
  if (g_strv_contains(commands, base_name(first))) return NULL;
  if (strstr(image, "sglang")) return &orr_dialect_sglang;
  if (strstr(image, "tensorrt")) return &orr_dialect_trtllm;
  return strstr(image, "vllm") ? &orr_dialect_vllm : NULL;
}

const char *orr_launch_server_image(const char *text) {
  static const char ending[] = ".sqsh";
  const gboolean is_file = g_str_has_suffix(text, ending) && strchr(text, '+');
  g_autofree char *name =
      is_file ? g_path_get_basename(text)
              : g_strdup(text + (g_str_has_prefix(text, scheme) ? strlen(scheme) : 0));
  if (is_file) {
    name[strlen(name) - strlen(ending)] = '\0';
    *strrchr(name, '+') = ':';
  }
  return g_intern_string(g_strdelimit(name, is_file ? "+" : "#", '/'));
}

const char *orr_launch_server_image_around(const OrrLaunchCommand *command, guint end) {
  static const char option[] = "--container-image";
  const char *image = NULL;
  for (guint i = 0; i < end; i++) {
    const char *text = orr_launch_server_word(command, i);
    if (strcmp(text, option) == 0)
      image = orr_launch_server_word(command, i + 1);
    else if (g_str_has_prefix(text, option) && text[strlen(option)] == '=')
      image = text + strlen(option) + 1;
    else if (g_str_has_prefix(text, scheme) && !image)
      image = text;
  }
  return image ? orr_launch_server_image(image) : command->around;
}

/* --- Recognising --- */

static gboolean is_package(const char *text) {
  static const char *const names[] = {"vllm", "sglang", "tensorrt-llm", "tensorrt_llm", NULL};
  for (const char *const *name = names; *name; name++) {
    const gsize length = strlen(*name);
    if (strncmp(text, *name, length) == 0 && text[length] && strchr("=<>~[", text[length]))
      return TRUE;
  }
  return FALSE;
}

static gboolean find_package(const OrrLaunchCommand *command, OrrServerCommand *ret_found) {
  for (guint i = 1; i < command->words->len; i++) {
    if (!is_package(orr_launch_server_word(command, i))) continue;
    ret_found->dialect = &orr_dialect_container;
    ret_found->first = i;
    return TRUE;
  }
  return FALSE;
}

/* SGLang's own pages write `sglang serve --dataset-name random ...` for its client; a line that
 * also is a load runs the engine itself. */
static void mend_client(const OrrLaunchCommand *command, OrrServerCommand *found) {
  if (!found->dialect->client || found->load) return;
  for (guint i = found->first; i < command->words->len; i++)
    if (g_str_has_prefix(orr_launch_server_word(command, i), "--dataset-name") ||
        g_str_has_prefix(orr_launch_server_word(command, i), "--num-prompts")) {
      found->dialect = found->dialect->client;
      return;
    }
}

gboolean orr_launch_server_recognise(const OrrLaunchCommand *command, OrrServerCommand *ret_found) {
  OrrServerCommand found = {.command = command, .image = command->image};
  if (command->words->len == 0 && !command->image) return FALSE;
  if (command->words->len > 0)
    found.place = ((const OrrLaunchWord *)command->words->pdata[0])->place;
  found.container = find_container(command);
  if (found.container > 0) {
    found.n_options = find_image(command, found.container);
    if (found.n_options == 0 && find_program(command, found.container, &found))
      found.n_options = image_before(command, found.container, found.first);
    if (found.n_options == 0) return FALSE;
    found.image = orr_launch_server_image(orr_launch_server_word(command, found.n_options));
  }
  const guint from = found.container ? found.n_options + 1 : 0;
  if (!find_program(command, from, &found)) {
    if (!found.image && find_package(command, &found)) {
      *ret_found = found;
      return TRUE;
    }
    const gboolean has_arguments = from < command->words->len;
    found.dialect = found.image && has_arguments
                        ? entrypoint(found.image, orr_launch_server_word(command, from))
                        : NULL;
    found.first = from;
  }
  if (!found.dialect) return FALSE;
  if (!found.image) found.image = orr_launch_server_image_around(command, found.first);
  mend_client(command, &found);
  *ret_found = found;
  return TRUE;
}

gboolean orr_launch_server_knows(const OrrLaunchCommand *command) {
  OrrServerCommand found;
  return orr_launch_server_recognise(command, &found);
}
