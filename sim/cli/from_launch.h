/*
 * from_launch.h - launch lines and configs on the command line, for `import launch` and
 * `run --from-launch`.
 */
#ifndef ORR_FROM_LAUNCH_H
#define ORR_FROM_LAUNCH_H

#include "sim/import/launch/launch.h"

G_BEGIN_DECLS

/* What the options of ORR_FROM_LAUNCH_ENTRIES say. */
extern OrrLaunchOptions orr_from_launch_asked;

#define ORR_FROM_LAUNCH_ENTRIES                                                                    \
  {"cluster",                                                                                      \
   0,                                                                                              \
   0,                                                                                              \
   G_OPTION_ARG_FILENAME,                                                                          \
   &orr_from_launch_asked.cluster,                                                                 \
   "The machine of a launch line: a cluster of the library",                                       \
   "NAME"},                                                                                        \
      {"gpus",                                                                                     \
       0,                                                                                          \
       0,                                                                                          \
       G_OPTION_ARG_INT64,                                                                         \
       &orr_from_launch_asked.gpus,                                                                \
       "GPUs in all, where the launch line does not say",                                          \
       "N"},                                                                                       \
      {"nodes",                                                                                    \
       0,                                                                                          \
       0,                                                                                          \
       G_OPTION_ARG_INT64,                                                                         \
       &orr_from_launch_asked.nodes,                                                               \
       "Nodes, where the launch line does not say",                                                \
       "N"},                                                                                       \
      {"model",                                                                                    \
       0,                                                                                          \
       0,                                                                                          \
       G_OPTION_ARG_FILENAME,                                                                      \
       &orr_from_launch_asked.model,                                                               \
       "The model, where the launch line does not name one of the library",                        \
       "NAME"},                                                                                    \
      {"stack",                                                                                    \
       0,                                                                                          \
       0,                                                                                          \
       G_OPTION_ARG_FILENAME,                                                                      \
       &orr_from_launch_asked.stack,                                                               \
       "The software and its version (default: the version that the launch line names, or the "    \
       "newest)",                                                                                  \
       "NAME"},                                                                                    \
      {"skip-unknown",                                                                             \
       0,                                                                                          \
       0,                                                                                          \
       G_OPTION_ARG_NONE,                                                                          \
       &orr_from_launch_asked.skip_unknown,                                                        \
       "A key that the program is not known to have is a warning, not an error",                   \
       NULL},                                                                                      \
  {                                                                                                \
    "choose", 0, 0, G_OPTION_ARG_INT64, &orr_from_launch_asked.choice,                             \
        "Which of several launch lines", "N"                                                       \
  }

/* Whether @setting sets a variable of a script (NAME=VALUE) rather than a key of a scenario, whose
 * names have small letters. */
gboolean orr_from_launch_is_variable(const char *setting);

/* The scenario of @files ("-": stdin; none: stdin) as YAML text that passes `check`, newly
 * allocated. Prints warnings to stderr; with @account, what became of every key. NULL with
 * ORR_FAULT_USAGE, _DOCUMENT or _RESOURCE. */
char *orr_from_launch_text(OrrLibrary *library, char **files, gboolean account, GError **error);

G_END_DECLS

#endif
