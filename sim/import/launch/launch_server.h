/*
 * launch_server.h - commands that start a serving engine, and those that put load on one.
 *
 *   vllm serve, python -m vllm.entrypoints.openai.api_server       dialect vllm
 *   sglang serve, python -m sglang.launch_server                   dialect sglang
 *   trtllm-serve                                                   dialect trtllm
 *   vllm bench serve, sglang.bench_serving, genai-perf, aiperf     dialects *-bench: the load
 *   docker run ... IMAGE ...                                       a server in a container
 *   pip install vllm==0.9.1                                        dialect container: the version
 *
 * The form that reads the input (shell, a manifest of Kubernetes) finds the commands; what runs
 * them (nohup, numactl, mpirun, srun, nsys) may stand in front.
 */
#ifndef ORR_LAUNCH_SERVER_H
#define ORR_LAUNCH_SERVER_H

#include "sim/import/launch/launch_form.h"

G_BEGIN_DECLS

typedef struct {
  GPtrArray *words; /* of OrrLaunchWord *, without redirections; borrowed */
  /* of OrrLaunchWord *, "NAME=value": exported before, or in front of the command; NULL: none */
  GPtrArray *environment;
  const char *image; /* of the container that runs it; NULL: none */
  OrrPlace image_place;
  gint64 replicas; /* of this server; 0: one */
  /* The loop of a script that runs it who knows how often, as written; NULL: none */
  char *loop;
  OrrPlace loop_place;
  gboolean is_background;
} OrrLaunchCommand;

/* Whether @command is one of those above. Quick. */
gboolean orr_launch_server_knows(const OrrLaunchCommand *command);

/* Adds the settings of all commands (of OrrLaunchCommand *) of one input, which
 * orr_launch_server_knows. One server; or servers that prefill with servers that decode: one
 * scenario with disaggregation. Otherwise options.choice picks one server; without it, an error
 * lists them. */
void orr_launch_server_read(OrrLaunchDraft *draft, const GPtrArray *commands);

G_END_DECLS

#endif
