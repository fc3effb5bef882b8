/*
 * from_launch.h - launch lines and configs on the command line, for `import launch` and
 * `run --from-launch`.
 */
#pragma once

#include "sim/cli/options.h"
#include "sim/import/launch/launch.h"

/* What the options of ORR_FROM_LAUNCH_ENTRIES say. */
extern OrrLaunchOptions orr_from_launch_asked;

#define ORR_FROM_LAUNCH_ENTRIES                                                                    \
  ORR_OPTION_TEXT("cluster", orr_from_launch_asked.cluster, "NAME",                                \
                  "The machine of a launch line: a cluster of the library"),                       \
      ORR_OPTION_INT64("gpus", orr_from_launch_asked.gpus,                                         \
                       "GPUs in all, where the launch line does not say"),                         \
      ORR_OPTION_INT64("nodes", orr_from_launch_asked.nodes,                                       \
                       "Nodes, where the launch line does not say"),                               \
      ORR_OPTION_TEXT("model", orr_from_launch_asked.model, "NAME",                                \
                      "The model, where the launch line does not name one of the library"),        \
      ORR_OPTION_TEXT("stack", orr_from_launch_asked.stack, "NAME",                                \
                      "The software and its version (default: the version that the launch line "   \
                      "names, or the newest)"),                                                    \
      ORR_OPTION_FLAG("skip-unknown", orr_from_launch_asked.skip_unknown,                          \
                      "A key that the program is not known to have is a warning, not an error"),   \
      ORR_OPTION_FLAG("strict", orr_from_launch_asked.strict,                                      \
                      "Ask what the input leaves open instead of assuming it"),                    \
      ORR_OPTION_INT64("choose", orr_from_launch_asked.choice,                                     \
                       "Which of several launch lines or benchmarks")

/* Whether @setting sets a variable of a script (NAME=VALUE) rather than a key of a scenario, whose
 * names have small letters. */
gboolean orr_from_launch_is_variable(const char *setting);

/* The scenario of @files ("-": stdin; none: stdin) as YAML text that passes `check`, newly
 * allocated. Prints warnings to stderr, and appends them to @warnings (of char *, owned); with
 * @account, prints what became of every key. NULL with ORR_FAULT_USAGE, _DOCUMENT or
 * _RESOURCE. */
char *orr_from_launch_text(OrrLibrary *library, char **files, gboolean account, GPtrArray *warnings,
                           GError **error);
