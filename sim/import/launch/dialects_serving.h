/*
 * dialects_serving.h - the dialects of serving engines and of what puts load on them.
 */
#ifndef ORR_DIALECTS_SERVING_H
#define ORR_DIALECTS_SERVING_H

#include "sim/import/launch/launch.h"

G_BEGIN_DECLS

extern const OrrLaunchDialect orr_dialect_sglang;
extern const OrrLaunchDialect orr_dialect_trtllm;
extern const OrrLaunchDialect orr_dialect_vllm;
/* Benchmarks: the load. Their names end in "-bench", by which a server knows that there is one. */
extern const OrrLaunchDialect orr_dialect_aiperf_bench;
extern const OrrLaunchDialect orr_dialect_guidellm_bench;
extern const OrrLaunchDialect orr_dialect_inferencex_bench;
extern const OrrLaunchDialect orr_dialect_offline_bench; /* beside an engine, in one line */
extern const OrrLaunchDialect orr_dialect_sglang_bench;
extern const OrrLaunchDialect orr_dialect_vllm_bench;
/* The image, the replicas and the packages of a server. */
extern const OrrLaunchDialect orr_dialect_container;
/* Environment variables of NCCL and of the engines. */
extern const OrrLaunchDialect orr_dialect_manifest;
extern const OrrLaunchDialect orr_dialect_environment;

G_END_DECLS

#endif
