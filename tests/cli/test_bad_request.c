/*
 * test_bad_request.c - all that can be wrong with a command: its settings, where it is to write,
 * the database, the table of rows; and that a run which is stopped midway leaves no part of itself.
 */
#include <signal.h>
#include <sqlite3.h>
#include <unistd.h>

#include "tests/cli/bad_fixture.h"

/* --- The command line --- */

static void test_settings(void) {
  empty_folder();
  put("right.yaml", GOOD, -1);
  const char *const wrong[][2] = {
      {"nodes=3", "unknown key 'nodes'"},
      {"=3", "--set takes PATH=VALUE"},
      {"cluster.nodes", "--set takes PATH=VALUE"},
      {"cluster.nodes=", "is empty"},
      {"cluster..nodes=1", "a name between the dots is missing"},
      {"workload.paralel.tp=2", "did you mean 'parallel'?"},
      {"workload.batch.global.x=5", "has no keys below it"},
      {"workload.batch=5", "'batch' must be a map"},
      {"'cluster={base: x'", "is not valid YAML"},
      {"'model={layers: 2, layers: 4}'", "duplicate key 'layers'"},
      {"model=gpt3-175c", "did you mean 'gpt3-175b'?"},
      {"engine=simgird", "did you mean 'simgrid'?"},
      {"seed=-1", "'seed' must be 0 or greater"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
    g_autofree char *line = g_strdup_printf("run right.yaml --set %s", wrong[i][0]);
    assert_refused(line, 2, wrong[i][1]);
  }
  assert_refused("run right.yaml --fidelity ful", 2, "did you mean 'full'?");
}

/* What a scenario demands of a machine that does not have it. */
static void test_machines(void) {
  empty_folder();
  put("twice.yaml",
      "schema: scenario/1\nbase: two-jobs-one-uplink\njobs:\n  - {name: a, gpus: 3, placement: "
      "{kind: explicit, gpus: [3, "
      "2-3]}, workload: {kind: collectives}}\n",
      -1);
  put("late.yaml",
      "schema: scenario/1\nbase: gpt3-175b-1024-a100\nfaults:\n  - {at: 5000 s, fault: {kind: "
      "slow-gpu, gpu: 1}}\n",
      -1);
  put("link.yaml",
      "schema: scenario/1\nbase: gpt3-175b-1024-a100\nfaults:\n  - {at: 1 s, fault: {kind: link, "
      "name: leaf0-spine.up}}\n",
      -1);
  assert_refused("run twice.yaml", 2, "GPU 3");
  assert_refused("run late.yaml --db none", 2, "late.yaml:4:5: error: faults.1: GPU 1");
  assert_refused("run link.yaml", 2, "did you mean 'leaf0-spines.up'?");
}

/* What only the run finds has a place all the same: of the key, or of what the command line set. */
static void test_served(void) {
  static const char served[] =
      "schema: scenario/1\nname: served\ncluster: {base: dgx-h100-superpod, nodes: 1}\n"
      "model: llama-3.1-8b\nworkload:\n  kind: serving\n  input: {tokens: 100}\n"
      "  output: {tokens: 10}\n";
  static const struct {
    const char *more, *wanted;
  } wrong[] = {
      {"  load: {kind: poisson, rate: 1}\n  requests: 9\n  slo:\n    tpot: 1 us\n",
       "wrong.yaml:12:11: error: workload.slo.tpot: 0.001 ms can never be met"},
      {"  load: {kind: poisson, rate: 1}\n  requests: 9\n  classes: [{name: fast, slo: {ttft: 1 "
       "us}}, {name: slow}]\n",
       "wrong.yaml:11:12: error: workload.classes.fast.slo.ttft: 0.001 ms can never be met"},
      {"  load:\n    kind: csv\n    file: empty.csv\n",
       "wrong.yaml:11:11: error: workload.load.file: the trace has no request: empty.csv"},
      {"  load:\n    kind: csv\n    file: nowhere.csv\n",
       "wrong.yaml:11:11: error: workload.load.file: there is no trace nowhere.csv"},
  };
  empty_folder();
  put("empty.csv", "arrival_s,input_tokens,output_tokens\n", -1);
  for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
    g_autofree char *text = g_strconcat(served, wrong[i].more, NULL);
    put("wrong.yaml", text, -1);
    assert_refused("run wrong.yaml --db none", 2, wrong[i].wanted);
  }
  assert_refused("run wrong.yaml --db none --set workload.load.file=neither.csv", 2,
                 "error: workload.load.file: there is no trace neither.csv");
}

/* A device that lacks rows of its own stands in another's place, or the run is refused: as the
 * scenario says. */
static void test_on_missing(void) {
  empty_folder();
  put("right.yaml", GOOD, -1);
  assert_refused(
      "run right.yaml --db none --set cluster.device=a100-40gb-sxm --set on-missing=error", 2,
      "the kernels of a100-80gb-sxm are scaled to its datasheet (on-missing: error)");
  assert_refused("run right.yaml --db none --set on-missing=erorr", 2, "did you mean 'error'?");
}

static void test_loads(void) {
#define LOAD "describe cluster dgx-h100-superpod "
  empty_folder();
  assert_refused(LOAD "--collective all-two-all", 2, "did you mean 'all-to-all'?");
  assert_refused(LOAD "--collective all-reduce --algorithm rign", 2, "did you mean 'ring'?");
  assert_refused(LOAD "--collective all-to-all --algorithm ring", 2, "does not support all-to-all");
  assert_refused(LOAD "--collective all-reduce --size 5", 2, "--size: '5' has no unit");
  assert_refused(LOAD "--size 5MB", 2, "--algorithm and --size need --collective");
  assert_refused(LOAD "--set routing", 2, "--set takes PATH=VALUE");
  assert_refused(LOAD "--set rooting=ecmp", 2, "did you mean 'routing'?");
  assert_refused("describe device h100-sxm --collective all-reduce", 2, "are for clusters");
  assert_refused(LOAD "--prices exampel", 2, "did you mean 'example'?");
  assert_refused(LOAD "--prices /dev/zero", 2, "unknown prices '/dev/zero'");
  assert_refused(LOAD "--set node.nic-bandwidth=100Gb/s --prices example", 2,
                 "no price of optic at 100 Gb/s (nic-leaf): add one to optics");
  assert_refused(LOAD "--prices example --collective all-reduce", 2, "give one");
  assert_refused(LOAD "--set copper=[nic-lef]", 2, "did you mean 'nic-leaf'?");
  assert_refused("describe device h100-sxm --prices example", 2, "are for clusters");
#undef LOAD
}

static void test_steps(void) {
#define STEPS                                                                                      \
  "run nccl-tests-dgx-h100-16 --db none --set workload.replay=steps --set workload.begin=1MiB "    \
  "--set "                                                                                         \
  "workload.end=1MiB "
  empty_folder();
  assert_refused(STEPS "--set workload.algorithm=collnet", 2,
                 "collective algorithm 'collnet' has no step form (");
  assert_refused(STEPS "--set workload.replay=step", 2, "did you mean 'steps'?");
  assert_refused(
      STEPS "--set workload.algorithm=ring --set cluster.max-nodes=2048 --set cluster.nodes=2048",
      2, "16384 ranks need about 5.37e+08 sends; the limit is 12 million");
#undef STEPS
}

static void test_traces(void) {
  empty_folder();
  put("right.yaml", GOOD, -1);
  assert_refused("run right.yaml --db none --trace nowhere/x.json", 1,
                 "there is no folder nowhere");
  assert_refused("run right.yaml --db none --trace .", 1, "it is a folder");
  assert_refused("run right.yaml --db none --trace ''", 2, "a file needs a name");
}

/* --- Databases --- */

static void execute(sqlite3 *db, const char *sql) {
  g_assert_cmpint(sqlite3_exec(db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
}

static sqlite3 *connect_to(const char *name) {
  g_autofree char *path = path_of(name);
  sqlite3 *db = NULL;
  g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
  return db;
}

static void assert_database_refused(const char *name, const char *wanted) {
  g_autofree char *run = g_strdup_printf("run right.yaml --db %s", name);
  g_autofree char *query = g_strdup_printf("query %s summary", name);
  assert_refused(run, 1, wanted);
  assert_refused(query, 1, wanted);
}

static void test_foreign_databases(void) {
  empty_folder();
  put("right.yaml", GOOD, -1);
  put("notes.txt", "not a database", -1);
  sqlite3 *db = connect_to("foreign.db");
  execute(db, "CREATE TABLE a(x)");
  sqlite3_close(db);
  assert_database_refused("notes.txt", "is not an SQLite database; the file was not changed");
  assert_database_refused("foreign.db",
                          "is an SQLite database of another program; the file was not changed");
  assert_database_refused(".", "is a folder");
  assert_database_refused("/dev/null", "is not a regular file");
  assert_refused("run right.yaml --db nowhere/x.db", 1, "there is no folder 'nowhere'");
  assert_refused("query nothing.db summary", 1, "there is no such results database");
  assert_refused("validate megatron-sc21 --db foreign.db", 1, "of another program");
  assert_refused("db merge all.db foreign.db", 1,
                 "nothing was merged: foreign.db: is an SQLite database of another program");
  assert_refused("db merge foreign.db all.db", 1, "of another program");
}

/* Not by assert_refused: reading the file here would drop this process' lock on it (POSIX). */
static void assert_locked(const char *line) {
  g_autofree char *out = NULL, *err = NULL;
  g_assert_cmpint(spawn(line, &out, &err), ==, 1);
  g_assert_nonnull(strstr(err, "own.db: is locked by another process"));
  g_assert_cmpstr(out, ==, "");
}

/* Ours, but newer, cut off in the middle, or locked; afterwards a run goes in as if nothing had
 * been. */
static void test_own_databases(void) {
  empty_folder();
  put("right.yaml", GOOD, -1);
  assert_fine("run right.yaml --db own.db", "run 1 in own.db");
  g_autofree char *path = path_of("own.db"), *bytes = NULL;
  gsize length = 0;
  g_assert_true(g_file_get_contents(path, &bytes, &length, NULL));
  put("cut.db", bytes, (gssize)(length / 2));
  put("newer.db", bytes, (gssize)length);
  memset(bytes + 4096, 0xa5, length - 4096); /* all pages but the first, which holds the schema */
  put("scratched.db", bytes, (gssize)length);
  sqlite3 *db = connect_to("newer.db");
  execute(db, "PRAGMA user_version = 99");
  sqlite3_close(db);
  assert_database_refused("cut.db", "is truncated");
  assert_database_refused("scratched.db", "malformed");
  assert_database_refused("newer.db", "has schema version 99, made by a newer Orrery");
  db = connect_to("own.db");
  execute(db, "BEGIN EXCLUSIVE");
  g_setenv("ORRERY_LOCK_WAIT", "50 ms", TRUE);
  assert_locked("run right.yaml --db own.db");
  assert_locked("query own.db summary");
  assert_locked("db merge all.db own.db");
  execute(db, "ROLLBACK");
  sqlite3_close(db);
  assert_fine("run right.yaml --db own.db", "run 2 in own.db");
  assert_refused("db merge all.db own.db newer.db", 1, "newer.db: has schema version 99");
  assert_refused("db merge own.db", 2, "db merge takes a database and the databases");
}

/* Root may write everywhere: this says something only to others. */
static void test_unwritable(void) {
  if (geteuid() == 0) {
    g_test_skip("root may write everywhere");
    return;
  }
  empty_folder();
  put("right.yaml", GOOD, -1);
  g_assert_cmpint(g_chmod(folder, 0555), ==, 0);
  assert_refused("run right.yaml", 1, "orrery.db");
  assert_refused("run right.yaml --db none --trace x.json", 1, "is not writable");
  g_assert_cmpint(g_chmod(folder, 0755), ==, 0);
}

/* Ctrl-C in the middle of a long run ends it at once, as a signal does, and no part of the run
 * is stored. */
static void test_interrupt(void) {
  empty_folder();
  put("right.yaml", GOOD, -1);
  assert_fine("run right.yaml --db own.db", "run 1 in own.db");
  char *argv[] = {
      binary, "run", "right.yaml", "--db", "own.db", "--set", "workload.batch.global=60000", NULL};
  GPid child;
  int wait_status = 0;
  g_assert_true(g_spawn_async(folder, argv, NULL,
                              G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL |
                                  G_SPAWN_STDERR_TO_DEV_NULL,
                              NULL, NULL, &child, NULL));
  g_usleep(
      /* well into its seconds; were it done already, there would be a run 2 and this would fail */
      700000);
  kill(child, SIGINT);
  g_assert_cmpint(waitpid(child, &wait_status, 0), ==, child);
  g_assert_true(WIFSIGNALED(wait_status));
  g_assert_cmpint(WTERMSIG(wait_status), ==, SIGINT);
  assert_fine("query own.db 'SELECT count(*) AS n FROM run' --csv", "n\n1\n");
  assert_fine("query own.db 'PRAGMA integrity_check' --csv", "ok");
}

/* --- Tables --- */

static void test_tables(void) {
  const char *const wrong[][2] = {
      {"", "no header line"},
      {"# only a comment\n", "no header line"},
      {"label,model\na,megatron-1.7b\n", "there is nothing to compare with"},
      {"label,modle,measured.mfu\na,x,1\n", "did you mean 'model'?"},
      {"label,measured.iteration_time\na,1\n", "did you mean 'iteration_time_s'?"},
      {"label,label,measured.mfu\na,b,1\n", "duplicate column 'label'"},
      {"label,measured.mfu\na,1,2\n", "rows.csv:2:1: error: 3 cells, but the header has 2"},
      {"label,measured.mfu\n\377,1\n", "not a text file"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
    empty_folder();
    put("rows.csv", wrong[i][0], -1);
    assert_refused("validate megatron-sc21 --rows rows.csv --db none", 2, wrong[i][1]);
  }
}

/* What a spreadsheet writes: a byte order mark, CR LF, quotes. A row that is wrong is refused,
 * the others run. */
static void test_table_rows(void) {
  empty_folder();
  put("rows.csv",
      "\xef\xbb\xbflabel,model,cluster.gpus,measured.n_gpus\r\n\"a, "
      "quoted\",megatron-1.7b,32,32\r\n"
      "b,megatron-1.7b,32,-1\r\nc,megatron-1.7b,32,x\r\nd,megatron-1.7b,33,32\r\ne,megatron-1.7b,"
      "many,32\r\n",
      -1);
  assert_fine("validate megatron-sc21 --rows rows.csv --db none",
              "1 compared, 4 rows refused; mean absolute error 0.0 %");
}

static void test_costs(void) {
  empty_folder();
  put("rows.csv", "m,n\n1,2\n", -1);
  put("cell.csv", "m,n,k\n1,2,x\n", -1);
  assert_refused("calibrate cost a100-80gb-sxm gem m=1", 2, "did you mean 'gemm'?");
  assert_refused("calibrate cost a100-80gb-sxn gemm m=1", 2, "did you mean 'a100-80gb-sxm'?");
  assert_refused("calibrate cost a100-80gb-sxm gemm m=1 n=1", 2, "gemm needs k=...");
  assert_refused("calibrate cost a100-80gb-sxm gemm m=0 n=1 k=1", 2,
                 "m is '0': want a whole number above 0");
  assert_refused("calibrate cost a100-80gb-sxm gemm m=1 m=2 n=1 k=1", 2, "m is given twice");
  assert_refused("calibrate cost a100-80gb-sxm gemm m=1 n=1 k=1 x=1", 2,
                 "unknown key 'x' of gemm (allowed: ");
  assert_refused("calibrate cost a100-80gb-sxm gemm m", 2, "want key=value");
  assert_refused("calibrate cost a100-80gb-sxm gemm --rows rows.csv", 2, "no column k");
  assert_refused("calibrate cost a100-80gb-sxm gemm --rows cell.csv", 2,
                 "cell.csv:2:1: error: k is 'x'");
  assert_fine("calibrate cost a100-80gb-sxm gemm m=1000000000 n=1000000000 k=1000000000",
              "outside");
}

/* Two files: what is wrong with the first hides nothing of the second. */
static void test_check_two(void) {
  empty_folder();
  put("one.yaml", "a: 1\n", -1);
  put("two.yaml", "schema: model/1\nlayers: 0\n", -1);
  assert_refused("check one.yaml two.yaml", 2,
                 "two.yaml:2:9: error: 'layers' must be between 1 and");
}

static void test_import_huggingface(void) {
  put("config.json", "{\"model_type\": \"lama\"}", -1);
  assert_refused("import huggingface config.json", 2,
                 "config.json:1:16: error: unknown model_type 'lama': did you mean 'llama'?");
  put("config.json", "{\"model_type\": \"llama\"", -1);
  assert_refused("import huggingface config.json", 2, "config.json:1:23: error: the text ends");
  assert_refused("import huggingface nothing.json", 1, "nothing.json");
}

static void add_tests(void) {
  g_test_add_func("/bad-request/import-huggingface", test_import_huggingface);
  g_test_add_func("/bad-request/loads", test_loads);
  g_test_add_func("/bad-request/steps", test_steps);
  g_test_add_func("/bad-request/served", test_served);
  g_test_add_func("/bad-request/on-missing", test_on_missing);
  g_test_add_func("/bad-request/settings", test_settings);
  g_test_add_func("/bad-request/machines", test_machines);
  g_test_add_func("/bad-request/traces", test_traces);
  g_test_add_func("/bad-request/foreign-databases", test_foreign_databases);
  g_test_add_func("/bad-request/own-databases", test_own_databases);
  g_test_add_func("/bad-request/unwritable", test_unwritable);
  g_test_add_func("/bad-request/interrupt", test_interrupt);
  g_test_add_func("/bad-request/tables", test_tables);
  g_test_add_func("/bad-request/table-rows", test_table_rows);
  g_test_add_func("/bad-request/costs", test_costs);
  g_test_add_func("/bad-request/check-two", test_check_two);
}

int main(int argc, char **argv) { return run_tests(argc, argv, add_tests); }
