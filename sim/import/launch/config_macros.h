/*
 * config_macros.h - what rules of the dialects of configs have in common.
 */
#ifndef ORR_CONFIG_MACROS_H
#define ORR_CONFIG_MACROS_H

#define LATER(path_) .path = path_, .convert = orr_launch_convert_later
#define COUNT(path_) .path = path_, .convert = orr_launch_convert_int
#define IRRELEVANT(why_) .verdict = ORR_LAUNCH_IRRELEVANT, .why = why_, .arity = ORR_LAUNCH_MAYBE
#define SKIPPED(why_, neutral_)                                                                    \
  .verdict = ORR_LAUNCH_NOT_SIMULATED, .why = why_, .neutral = neutral_, .arity = ORR_LAUNCH_MAYBE
#define LOGS IRRELEVANT("logging and profiling")
#define DATA IRRELEVANT("data and tokens: their content does not change the time of a step")
#define ODDS IRRELEVANT("how long the run is, and what lies between its steps")
#define NUMERICS IRRELEVANT("numbers that change what is computed, not how long")
#define SAVES IRRELEVANT("checkpoints lie between steps; workload.checkpoint simulates them")
#define WHERE IRRELEVANT("how the processes start and find each other")
/* A key that is Megatron-LM's @theirs by another name; "!" inverts true and false. */
#define MEGATRON(theirs_, path_)                                                                   \
  .path = path_, .convert = orr_launch_translate_convert, .why = theirs_

#endif
