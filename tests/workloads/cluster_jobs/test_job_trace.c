/*
 * test_job_trace.c - traces of jobs: columns and their defaults, errors at their cell, fields of
 * the Standard Workload Format.
 */
#include "workloads/cluster_jobs/traces/job_trace.h"

#include <glib/gstdio.h>
#include <string.h>

static OrrJobTrace *read_text(const char *ending, const char *text, const char *queue,
                              char **ret_message) {
  g_autofree char *name = g_strconcat("jobs-XXXXXX", ending, NULL);
  g_autoptr(GError) error = NULL;
  g_autofree char *path = NULL;
  const int file = g_file_open_tmp(name, &path, &error);
  g_assert_no_error(error);
  g_assert_true(g_close(file, NULL));
  g_assert_true(g_file_set_contents(path, text, -1, NULL));
  OrrJobTrace *trace = orr_job_trace_read(path, NULL, queue, &error);
  g_unlink(path);
  if (ret_message) *ret_message = error ? g_strdup(error->message) : NULL;
  g_assert_true((trace == NULL) == (error != NULL));
  return trace;
}

static const OrrGangJob *job_at(const OrrJobTrace *trace, guint i) {
  return &g_array_index(trace->jobs, OrrGangJob, i);
}

static void test_csv(void) {
  g_autoptr(OrrJobTrace) trace =
      read_text(".csv",
                "# a comment\ngpus,job_id,submit_s,duration_s,limit_s,queue\n"
                "8,2,10,0.5,,a\n4,10,10,7,3,a\n1,1,2,1e3,,b\n0,4,2,5,,a\n",
                NULL, NULL);
  /* In order of submission, then of the id as a number; a job without GPUs is left out. */
  g_assert_cmpuint(trace->jobs->len, ==, 3);
  g_assert_cmpuint(trace->n_without_gpus, ==, 1);
  g_assert_cmpstr(job_at(trace, 0)->id, ==, "1");
  g_assert_cmpstr(job_at(trace, 1)->id, ==, "2");
  g_assert_cmpstr(job_at(trace, 2)->id, ==, "10");
  g_assert_cmpint(job_at(trace, 1)->work_us, ==, 500000);
  g_assert_cmpint(job_at(trace, 2)->limit_us, ==, 3000000);
  g_assert_cmpint(job_at(trace, 0)->limit_us, ==, 0);
}

/* Three jobs in six formats: 8 GPUs for an hour from the first date on, 1 GPU for 90 s ten seconds
 * later, and one that never ran. */
static void check_dated(const char *ending, const char *text, const char *queue) {
  g_autofree char *message = NULL;
  g_autoptr(OrrJobTrace) trace = read_text(ending, text, NULL, &message);
  g_assert_cmpstr(message, ==, NULL);
  g_assert_cmpuint(trace->jobs->len, ==, 2);
  g_assert_cmpuint(trace->n_without_gpus, ==, 1);
  g_assert_cmpint(job_at(trace, 0)->submit_us, ==, 0);
  g_assert_cmpint(job_at(trace, 0)->gpus, ==, 8);
  g_assert_cmpint(job_at(trace, 0)->work_us, ==, 3600 * 1000000LL);
  g_assert_cmpstr(job_at(trace, 0)->user, ==, "ann");
  g_assert_cmpstr(job_at(trace, 0)->queue, ==, queue);
  g_assert_cmpint(job_at(trace, 1)->submit_us, ==, 10 * 1000000LL);
  g_assert_cmpint(job_at(trace, 1)->gpus, ==, 1);
  g_assert_cmpint(job_at(trace, 1)->work_us, ==, 90 * 1000000LL);
}

/* Slurm writes 0 where a job was cancelled before it began, and names its GPUs. */
static void test_never_began(void) {
  check_dated(".csv",
              "id_job,id_user,partition,time_submit,time_start,time_end,gres_used\n"
              "7,ann,volta,1609459200,1609459260,1609462860,gpu:8(IDX:0-7)\n"
              "8,bob,volta,1609459210,1609459220,1609459310,gpu:volta:1(IDX:3)\n"
              "9,bob,volta,1609459220,0,1609459240,gpu:2\n",
              "volta");
}

static void test_dated(void) {
  check_dated(".csv",
              "job_id,user,vc,jobname,gpu_num,state,submit_time,duration,queue\n"
              "a1,bob,vc1,train,1,COMPLETED,2020-04-01 00:00:20,90,5\n"
              "a0,ann,vc1,train,8,COMPLETED,2020-04-01 00:00:10,3600,0\n"
              "a2,bob,vc1,train,1,CANCELLED,2020-04-01 00:01:00,,7\n",
              "vc1");
  check_dated(".csv",
              "job_id,user,node_num,gpu_num,type,state,submit_time,duration\n"
              "a0,ann,1,8,SFT,COMPLETED,2023-03-01 00:00:10+08:00,3600\n"
              "a1,bob,1,1,SFT,FAILED,2023-02-28 16:00:20+00:00,90\n"
              "a2,bob,1,0,SFT,COMPLETED,2023-03-01 00:00:30+08:00,90\n",
              "SFT");
  /* openb: a part of a GPU counts as one; a pod that was never scheduled */
  check_dated(
      ".csv",
      "name,user,cpu_milli,num_gpu,gpu_milli,qos,creation_time,deletion_time,scheduled_time\n"
      "p0,ann,12000,8,1000,LS,500,4110,510\n"
      "p1,bob,4000,1,460,LS,510,700,610\n"
      "p2,bob,4000,1,1000,BE,520,,\n",
      "LS");
  /* MIT Supercloud */
  check_dated(".csv",
              "id_job,id_user,partition,time_submit,time_start,time_end,gres_used\n"
              "7,ann,volta,1609459200,1609459260,1609462860,gpu:volta:8\n"
              "8,bob,volta,1609459210,1609459220,1609459310,\"cpu:2,gpu:1\"\n"
              "9,bob,volta,1609459220,1609459230,1609459240,\n",
              "volta");
  check_dated(".txt",
              "JobID|User|Partition|Submit|Elapsed|TimelimitRaw|AllocTRES|ReqTRES\n"
              "17|ann|gpu|2026-01-01T00:10:00|01:00:00|120|cpu=64,gres/gpu=8,node=1|\n"
              "17.batch||gpu|2026-01-01T00:10:00|01:00:00||cpu=64|\n"
              "18|bob|gpu|2026-01-01T00:10:10|00:01:30|UNLIMITED||cpu=8,gres/gpu=1\n"
              "19|bob|cpu|2026-01-01T00:10:20|1-00:00:00||cpu=8|cpu=8\n",
              "gpu");
  check_dated(".txt", /* End - Start: one hour, 90 s; a job that runs still is left out */
              "JobID|User|Partition|Submit|Start|End|AllocTRES\n"
              "17|ann|gpu|2026-01-01T00:10:00|2026-01-01T00:20:00|2026-01-01T01:20:00|gres/gpu=8\n"
              "18|bob|gpu|2026-01-01T00:10:10|2026-01-01T00:11:00|2026-01-01T00:12:30|gres/gpu=1\n"
              "19|bob|gpu|2026-01-01T00:10:20|2026-01-01T00:11:00|Unknown|gres/gpu=1\n"
              "20|bob|cpu|2026-01-01T00:10:20|2026-01-01T00:11:00|2026-01-01T00:12:00|cpu=8\n",
              "gpu");
  check_dated(
      ".json",
      "[{\"vc\": \"v\", \"jobid\": \"a_0\", \"user\": \"ann\", \"submitted_time\": "
      "\"2017-10-09 07:02:20 PDT\", \"attempts\": [{\"start_time\": \"2017-10-09 07:02:30\", "
      "\"end_time\": \"2017-10-09 07:32:30\", \"detail\": [{\"ip\": \"m1\", \"gpus\": "
      "[\"gpu0\", \"gpu1\", \"gpu2\", \"gpu3\"]}, {\"ip\": \"m2\", \"gpus\": [\"gpu0\", "
      "\"gpu1\", \"gpu2\", \"gpu3\"]}]}, {\"start_time\": \"2017-10-09 08:00:00\", "
      "\"end_time\": \"2017-10-09 08:30:00\", \"detail\": []}]},\n"
      "{\"vc\": \"v\", \"jobid\": \"a_1\", \"user\": \"bob\", \"submitted_time\": "
      "\"2017-10-09 07:02:30\", \"attempts\": [{\"start_time\": \"2017-10-09 07:03:00\", "
      "\"end_time\": \"2017-10-09 07:04:30\", \"detail\": [{\"gpus\": [\"gpu7\"]}]}]},\n"
      "{\"vc\": \"v\", \"jobid\": \"a_2\", \"user\": \"bob\", \"submitted_time\": "
      "\"2017-10-09 07:02:31\", \"attempts\": []}]",
      "v");
}

static gboolean assumes(const OrrJobTrace *trace, const char *text) {
  ORR_EACH_POINTER(const char, note, trace->assumed)
    if (strstr(note, text)) return TRUE;
  return FALSE;
}

/* Slurm's jobs that never started do not count as gangs of 0 s: 18, cancelled while it waited, and
 * tasks of the array 19. The components of job 20 are one. Job 21 failed in its first second. */
static void test_slurm(void) {
  g_autoptr(OrrJobTrace) trace = read_text(
      ".txt",
      "JobID|Submit|Start|End|Elapsed|State|AllocTRES|ReqTRES\n"
      "17|2026-01-01T00:00:00|2026-01-01T00:10:00|2026-01-01T01:10:00|01:00:00|COMPLETED|"
      "gres/gpu=8|gres/gpu=8\n"
      "18|2026-01-01T00:00:05|Unknown|2026-01-01T00:01:00|00:00:00|CANCELLED by 7||gres/gpu=8\n"
      "19_[2-5]|2026-01-01T00:00:06|Unknown|Unknown|00:00:00|PENDING||gres/gpu=8\n"
      "20+0|2026-01-01T00:00:10|2026-01-01T00:10:00|2026-01-01T00:40:00|00:30:00|COMPLETED|"
      "gres/gpu=4|gres/gpu=4\n"
      "20+1|2026-01-01T00:00:10|2026-01-01T00:10:00|2026-01-01T01:10:00|01:00:00|COMPLETED|"
      "gres/gpu=8|gres/gpu=8\n"
      "21|2026-01-01T00:00:20|2026-01-01T00:10:00|2026-01-01T00:10:00|00:00:00|FAILED|"
      "gres/gpu=1|gres/gpu=1\n"
      "22|2026-01-01T00:00:30|2026-01-01T00:10:00|Unknown|00:20:00|RUNNING|gres/gpu=1|gres/gpu=1\n",
      NULL, NULL);
  static const char *const ids[] = {"17", "20+0", "21", "22"};
  static const gint64 gpus[] = {8, 12, 1, 1}, work_s[] = {3600, 3600, 0, 1200};
  g_assert_cmpuint(trace->jobs->len, ==, G_N_ELEMENTS(ids));
  for (guint i = 0; i < G_N_ELEMENTS(ids); i++) {
    g_assert_cmpstr(job_at(trace, i)->id, ==, ids[i]);
    g_assert_cmpint(job_at(trace, i)->gpus, ==, gpus[i]);
    g_assert_cmpint(job_at(trace, i)->work_us, ==, work_s[i] * 1000000);
  }
  g_assert_true(assumes(trace, "never started, which are left out: 2"));
  g_assert_true(assumes(trace, "heterogeneous"));
  g_assert_true(assumes(trace, "still run"));
}

/* A file that does not say whether a job of 0 s started. */
static void test_slurm_unknown(void) {
  g_autoptr(OrrJobTrace) trace =
      read_text(".txt",
                "JobID|Submit|Elapsed|ReqTRES\n1|2026-01-01T00:00:00|00:00:00|gres/gpu=1\n"
                "2|2026-01-01T00:00:00|00:00:01|gres/gpu=1\n",
                NULL, NULL);
  g_assert_cmpuint(trace->jobs->len, ==, 2);
  g_assert_true(assumes(trace, "may never have started"));
}

static void test_bad_dates(void) {
  static const char *const texts[] = {
      "job_id,gpu_num,submit_time,duration\n1,8,yesterday,5\n",
      "JobID|Submit|ElapsedRaw|AllocTRES\n1|2026-13-01T00:00:00|5|gres/gpu=1\n",
      "JobID|Submit|Elapsed|AllocTRES\n1|2026-01-01T00:00:00|1:2:3:4|gres/gpu=1\n",
      "JobID|Submit|Elapsed\n1|2026-01-01T00:00:00|10\n",
      "[{\"submitted_time\": \"2017-99-09 07:02:20\", \"attempts\": []}]"};
  static const char *const wanted[] = {"'yesterday' is not a date", "'2026-13-01T00:00:00' is not",
                                       "the elapsed time is '1:2:3:4'", "want the columns JobID",
                                       "'2017-99-09 07:02:20' is not a date"};
  for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
    g_autofree char *message = NULL;
    g_autoptr(OrrJobTrace) trace = read_text(".csv", texts[i], NULL, &message);
    if (trace || !strstr(message, wanted[i])) g_error("%u: %s", i, message ? message : "read");
  }
}

static void test_queue(void) {
  static const char text[] = "submit_s,work_s,queue\n0,1,a\n1,1,b\n2,1,a\n";
  g_autoptr(OrrJobTrace) trace = read_text(".csv", text, "a", NULL);
  g_assert_cmpuint(trace->jobs->len, ==, 2);
  g_assert_cmpuint(trace->n_other_queues, ==, 1);
  g_assert_cmpint(job_at(trace, 0)->gpus, ==, 1); /* no column gpus */
  g_assert_cmpuint(trace->assumed->len, ==, 2);   /* gpus, limit_s */
  g_autofree char *message = NULL;
  g_assert_null(read_text(".csv", text, "c", &message));
  g_assert_nonnull(strstr(message, "no job of workload.queue"));
}

/* Job 1 has no GPUs, so 2, which waits for it, never starts, nor 3 and 5 after 2; 6 waits for 4
 * alone. Job 7's queue is not asked for, and 8 waits for it. */
static void test_after_left_out(void) {
  g_autoptr(OrrJobTrace) trace = read_text(".csv",
                                           "job_id,submit_s,duration_s,gpus,queue,after\n"
                                           "5,0,1,1,a,4|3\n3,0,1,1,a,2\n2,0,1,1,a,1\n1,0,1,0,a,\n"
                                           "4,9,1,1,a,\n6,0,1,1,a, 4 \n7,0,1,1,b,\n8,0,1,1,a,7\n",
                                           "a", NULL);
  g_assert_cmpuint(trace->jobs->len, ==, 6);
  g_assert_cmpuint(orr_job_after_drop(trace), ==, 4);
  g_assert_cmpuint(trace->jobs->len, ==, 2);
  g_assert_cmpstr(job_at(trace, 0)->id, ==, "6");
  g_assert_cmpstr(job_at(trace, 1)->id, ==, "4");
}

static void test_errors(void) {
  static const struct {
    const char *ending, *text, *wanted;
  } bad[] = {
      {".csv", "submit_s,gpus\n0,1\n", ":1:1: error: there is no column duration_s"},
      {".csv", "submit_s,duration_s\n0,1\n5,x\n", ":3:3: error: duration_s is 'x': want a number"},
      {".csv", "submit_s,duration_s\n0,-1\n", ":2:1: error: the run time is -1: want 0 to 1e+09"},
      {".csv", "submit_s,duration_s,gpus\n0,1,1.5\n", "number of GPUs is 1.5: want a whole"},
      {".csv", "submit_s,duration_s,gpus\n0,1,\n", ":2:5: error: gpus is ''"},
      {".csv", "submit_s,duration_s,phases\n0,1,0.5:2|0.4:3\n", ":2:5: error: phases is not"},
      {".csv", "submit_s,duration_s\n", "no job"},
      {".csv", "job,submit_s,duration_s\n1,0,1\n",
       ":1:1: error: unknown column 'job': did you mean 'job_id'? (allowed: job_id, submit_s, "},
      {".csv", "# c\nsubmit_s,duration_s,\"priorty\"\n0,1,2\n",
       ":2:21: error: unknown column 'priorty': did you mean 'priority'?"},
      {".csv", "submit_s,duration_s,gpu\n0,1,8\n", ":1:21: error: unknown column 'gpu'"},
      {".csv", "submit_s,duration_s,gpus,gpus\n0,1,8,4\n", ":1:26: error: duplicate column 'gpus'"},
      {".csv", "submit,duration_s\n0,1\n", "there is no column submit_s; is it 'submit'?"},
      {".csv", "submit_s,duration,gpus\n0,1,1\n", "or work_s); is it 'duration'? (the header"},
      {".csv", "submit_s,duration_s\n0\n", ":2:1: error: 1 cells, but the header has 2"},
      {".csv", "job_id,submit_s,duration_s,after\n1,0,1,\n2,0,1,1|77\n",
       ":3:7: error: after: no job of the trace has the job_id '77'"},
      {".csv", "submit_s,duration_s,after\n0,1,\n0,1,1\n",
       ":3:5: error: after: no job of the trace"},
      {".csv", "job_id,submit_s,duration_s,after\n3,0,1,1\n1,0,1,2\n2,0,1,1\n",
       ":3:7: error: after: jobs wait for each other: 1 after 2 after 1"},
      {".csv", "job_id,submit_s,duration_s,after\n1,0,1,\n2,0,1,2\n",
       ":3:7: error: after: jobs wait for each other: 2 after 2"},
      {".csv", "job_id,submit_s,duration_s,after\n1,0,1,\n1,0,1,\n2,0,1,1\n",
       ":4:7: error: after: several jobs have the job_id '1'"},
      {".swf", "; c\n1 2 3\n", ":2:1: error: 3 fields: want 18"},
      {".swf", "1 2 x\n", ":1:5: error: field 3 is 'x': want a number"},
      {".swf", "; nothing\n", "no job"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
    g_autofree char *message = NULL;
    g_assert_null(read_text(bad[i].ending, bad[i].text, NULL, &message));
    if (!strstr(message, bad[i].wanted)) g_error("'%s' lacks '%s'", message, bad[i].wanted);
  }
}

/* Columns of a log that resemble none which is absent are left out by name: what a log calls `job`
 * may stand next to `job_id`. */
static void test_left_out(void) {
  g_autoptr(OrrJobTrace) trace = read_text(
      ".csv",
      "job_id,job,submit_s,start_s,duration_s,work_s,gpus,state,limit_s\n1,a,0,5,9,7,1,ok,\n", NULL,
      NULL);
  g_assert_cmpuint(trace->assumed->len, ==, 1);
  g_assert_cmpstr(trace->assumed->pdata[0], ==,
                  "columns that are not read: job, start_s, work_s, state");
  g_assert_cmpint(job_at(trace, 0)->work_us, ==, 9000000);
}

/* 24 s at the first speed take 17/24 of it (test_gang_rounds.c). */
static void test_job_phases(void) {
  g_autoptr(OrrJobTrace) trace =
      read_text(".csv", "submit_s,duration_s,phases\n0,24,0.25:1.5|0.75:2\n1,5,\n", NULL, NULL);
  g_assert_cmpint(job_at(trace, 0)->work_us, ==, 17000000);
  g_assert_nonnull(job_at(trace, 0)->phases);
  g_assert_cmpint(job_at(trace, 1)->work_us, ==, 5000000);
  g_assert_null(job_at(trace, 1)->phases);
}

static void test_swf(void) {
  g_autoptr(OrrJobTrace) trace = read_text(
      ".swf",
      "; Version: 2.2\n 1 5 3 100 4 -1 -1 8 200 -1 1 7 1 1 2 1 -1 -1\n"
      "2 6 -1 50 -1 -1 -1 16 -1 -1 1 7 1 1 2 1 1 60\n3 7 -1 -1 4 -1 -1 4 9 -1 0 7 1 1 2 1 -1 -1\n",
      NULL, NULL);
  /* Processors used, or asked where the use is unknown; job 3 never ran. */
  g_assert_cmpuint(trace->jobs->len, ==, 2);
  g_assert_cmpint(job_at(trace, 0)->gpus, ==, 4);
  g_assert_cmpint(job_at(trace, 0)->limit_us, ==, 200000000);
  g_assert_cmpint(job_at(trace, 1)->gpus, ==, 16);
  g_assert_cmpint(job_at(trace, 1)->limit_us, ==, 0);
  g_assert_cmpstr(job_at(trace, 1)->user, ==, "7");
  g_assert_cmpstr(trace->assumed->pdata[1], ==, "preceding jobs (field 17): not waited for");
}

static void test_gavel(void) {
  static const char line[] =
      "ResNet-18 (batch size 128)\tpython3 main.py\timages\t--num_steps\t1\t925982"
      "\t4\t1\t-1\t12.5\n";
  g_autofree char *two = g_strconcat(line, "\n", line, NULL);
  g_autoptr(OrrJobTrace) trace = read_text(".trace", two, NULL, NULL);
  g_assert_cmpuint(trace->jobs->len, ==, 2);
  g_assert_cmpstr(job_at(trace, 1)->model, ==, "ResNet-18 (batch size 128)");
  g_assert_cmpfloat(job_at(trace, 1)->steps, ==, 925982);
  g_assert_cmpint(job_at(trace, 1)->gpus, ==, 4);
  g_assert_cmpint(job_at(trace, 1)->submit_us, ==, 12500000);
}

/* 20,000 jobs of 1 and 8 GPUs, three to one: 2.75 GPUs in the mean. On 64 GPUs at a load of 0.5
 * with run times of 1,000 s the mean gap is 1,000 x 2.75 / 32 = 85.9 s. All means within three
 * standard deviations: of exponentials 1 / sqrt n. Another load stretches the same jobs. */
static void test_generate(void) {
  OrrJobGenerate generate;
  orr_field_defaults(&orr_job_generate_table, &generate);
  const double gpus[] = {1, 8}, weights[] = {3, 1};
  generate.n = 20000;
  generate.load = 0.5;
  generate.mean_s = 1000;
  generate.durations = ORR_DURATIONS_EXPONENTIAL;
  g_array_set_size(generate.gpus, 0);
  g_array_append_vals(generate.gpus, gpus, 2);
  g_array_append_vals(generate.weights, weights, 2);
  const OrrJobGround ground = {.n_gpus = 64, .seed = 1};
  g_autoptr(OrrJobTrace) trace = orr_job_generate(&generate, &ground, NULL);
  generate.load = 1;
  g_autoptr(OrrJobTrace) dense = orr_job_generate(&generate, &ground, NULL);
  double run_s = 0, all_gpus = 0;
  for (guint i = 0; i < trace->jobs->len; i++) {
    const OrrGangJob *job = &g_array_index(trace->jobs, OrrGangJob, i);
    const OrrGangJob *same = &g_array_index(dense->jobs, OrrGangJob, i);
    run_s += (double)job->work_us / ORR_GANG_US_PER_S / generate.n;
    all_gpus += (double)job->gpus / generate.n;
    g_assert_cmpint(job->work_us, ==, same->work_us);
    g_assert_cmpint(ABS(job->submit_us - 2 * same->submit_us), <=, 2);
  }
  const OrrGangJob *last = &g_array_index(trace->jobs, OrrGangJob, trace->jobs->len - 1);
  const double gap_s = (double)last->submit_us / ORR_GANG_US_PER_S / (generate.n - 1);
  g_assert_cmpfloat(fabs(run_s / 1000 - 1), <, 3 / sqrt(20000));
  g_assert_cmpfloat(fabs(gap_s / (1000 * 2.75 / 32) - 1), <, 3 / sqrt(20000));
  g_assert_cmpfloat(fabs(all_gpus - 2.75), <, 3 * 7 * sqrt(3.0 / 16 / 20000));
  orr_field_clear(&orr_job_generate_table, &generate);
}

/* Four of five jobs are drawn between 10^1.5 and 10^3 minutes: a mean of 968.4 / (1.5 ln 10) =
 * 280.4 minutes; the others between 10^3 and 10^4: 9000 / ln 10 = 3908.7. In all 1,006.0 minutes.
 * The variance of the mean of 20,000 jobs: E[X^2] = 0.8 (10^6 - 10^3) / (3 ln 10) + 0.2 (10^8 -
 * 10^6) / (2 ln 10) = 4.415e6 minutes squared, less the mean's square: a standard deviation of
 * 1,845 / sqrt(20,000) = 13.0 minutes. The load follows from this mean, whatever `mean` says. */
static void test_philly(void) {
  OrrJobGenerate generate;
  const OrrJobGround ground = {.n_gpus = 8, .seed = 1};
  orr_field_defaults(&orr_job_generate_table, &generate);
  generate.n = 20000;
  generate.load = 0.5;
  generate.durations = ORR_DURATIONS_PHILLY;
  generate.arrivals = ORR_ARRIVALS_EVEN;
  g_array_set_size(generate.gpus, 1);
  g_autoptr(OrrJobTrace) trace = orr_job_generate(&generate, &ground, NULL);
  double minutes = 0;
  for (guint i = 0; i < trace->jobs->len; i++)
    minutes += (double)job_at(trace, i)->work_us / ORR_GANG_US_PER_S / 60 / 20000;
  g_assert_cmpfloat(fabs(minutes - 1006.0), <, 3 * 13.0);
  g_assert_cmpfloat_with_epsilon((double)job_at(trace, 1)->submit_us / ORR_GANG_US_PER_S / 60,
                                 1006.04 / 4, 0.01);
  orr_field_clear(&orr_job_generate_table, &generate);
}

static OrrGangThroughputs *throughputs(const char *text) {
  g_autofree char *path = NULL;
  g_autoptr(GError) error = NULL;
  g_assert_true(g_close(g_file_open_tmp("speeds-XXXXXX.csv", &path, &error), NULL));
  g_assert_true(g_file_set_contents(path, text, -1, NULL));
  OrrGangThroughputs *speeds = orr_gang_throughputs_read(path, &error);
  g_assert_no_error(error);
  g_unlink(path);
  return speeds;
}

/* What a few lines of Python print that draw with its module random as Gavel's generate_job does,
 * at seed 0, one job per hour, 70, 10, 15 and 5 % of 1, 2, 4 and 8 GPUs, and the models A and B;
 * only A runs on several GPUs. */
static void test_python_numbers(void) {
  static const struct {
    double submit_s, gpus, work_s, speed;
    const char *model;
  } wanted[] = {{0, 8, 68344.35010595087, 9, "A"},
                {978.344291641206, 1, 31016.60914593223, 3, "B"},
                {3807.099310116383, 1, 2146.6088374387864, 2, "A"},
                {5470.17078262555, 8, 30454.776390792507, 9, "A"}};
  const double gpus[] = {1, 2, 4, 8}, weights[] = {70, 10, 15, 5};
  g_autoptr(OrrGangThroughputs) speeds =
      throughputs("model,gpus,gpu_type,steps_per_s\nA,1,v,2\nA,2,v,4\nA,4,v,5\nA,8,v,9\nB,1,v,3\n");
  const OrrJobGround ground = {.n_gpus = 8, .seed = 0, .speeds = speeds, .kind = "v"};
  OrrJobGenerate generate;
  orr_field_defaults(&orr_job_generate_table, &generate);
  generate.n = 4;
  generate.gap_s = 3600;
  generate.durations = ORR_DURATIONS_PHILLY;
  generate.numbers = ORR_JOB_NUMBERS_PYTHON;
  generate.models = ORR_JOB_MODELS_THROUGHPUTS;
  g_array_set_size(generate.gpus, 0);
  g_array_append_vals(generate.gpus, gpus, 4);
  g_array_append_vals(generate.weights, weights, 4);
  g_autoptr(OrrJobTrace) trace = orr_job_generate(&generate, &ground, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(wanted); i++) {
    g_assert_cmpint(job_at(trace, i)->submit_us, ==, llround(wanted[i].submit_s * 1e6));
    g_assert_cmpint(job_at(trace, i)->gpus, ==, (gint64)wanted[i].gpus);
    g_assert_cmpint(job_at(trace, i)->work_us, ==, llround(wanted[i].work_s * 1e6));
    g_assert_cmpstr(job_at(trace, i)->model, ==, wanted[i].model);
    g_assert_cmpfloat_with_epsilon(job_at(trace, i)->steps, wanted[i].work_s * wanted[i].speed,
                                   1e-6);
  }
  orr_field_clear(&orr_job_generate_table, &generate);
}

/* A gang that no model of the table has is an error, not a draw without end. */
static void test_no_model(void) {
  g_autoptr(OrrGangThroughputs) speeds =
      throughputs("model,gpus,gpu_type,steps_per_s\nA,1,v,2\nA,2,v,0\n");
  const OrrJobGround ground = {.n_gpus = 8, .seed = 0, .speeds = speeds, .kind = "v"};
  g_autoptr(GError) error = NULL;
  OrrJobGenerate generate;
  orr_field_defaults(&orr_job_generate_table, &generate);
  generate.models = ORR_JOB_MODELS_THROUGHPUTS;
  g_assert_null(orr_job_generate(&generate, &ground, &error));
  g_assert_nonnull(strstr(error->message, "no model for 2 GPUs of kind 'v'"));
  orr_field_clear(&orr_job_generate_table, &generate);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/job_trace/csv", test_csv);
  g_test_add_func("/job_trace/left-out", test_left_out);
  g_test_add_func("/job_trace/queue", test_queue);
  g_test_add_func("/job_trace/after-left-out", test_after_left_out);
  g_test_add_func("/job_trace/dated", test_dated);
  g_test_add_func("/job_trace/never-began", test_never_began);
  g_test_add_func("/job_trace/slurm", test_slurm);
  g_test_add_func("/job_trace/slurm-unknown", test_slurm_unknown);
  g_test_add_func("/job_trace/bad-dates", test_bad_dates);
  g_test_add_func("/job_trace/errors", test_errors);
  g_test_add_func("/job_trace/phases", test_job_phases);
  g_test_add_func("/job_trace/swf", test_swf);
  g_test_add_func("/job_trace/gavel", test_gavel);
  g_test_add_func("/job_trace/generate", test_generate);
  g_test_add_func("/job_trace/philly", test_philly);
  g_test_add_func("/job_trace/python-numbers", test_python_numbers);
  g_test_add_func("/job_trace/no-model", test_no_model);
  return g_test_run();
}
