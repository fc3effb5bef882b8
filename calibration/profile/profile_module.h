/*
 * profile_module.h - the section `modules` of a profile: latencies of sparse and of linear
 * attention, as scattered rows of several devices and engines..
 *
 *   modules:
 *     devices: [{name: b200, chip: blackwell, bandwidth: 8 TB/s, bf16: 2250 TFLOP/s, ...}, ...]
 *     layers: [{name: deepseek-v3.2, hidden: 7168, topk: 2048, index-heads: 64, ...}, ...]
 *     tables:
 *       - name: dsa decode
 *         kind: sparse
 *         floor: 39.8 us
 *         scales: [7, 1.1, 26, 60, 7]
 *         differences: [0.001, 2.9, 0.12, ...]
 *         groups:
 *           - {op: dsa-decode, device: b200, engine: vllm, kernel: FLASHMLA_SPARSE,
 *              weights: fp8_block, cache: fp8, layer: deepseek-v3.2, rows: "128 1 1 1025 168 ..."}
 *
 * A row is five numbers: heads of the rank, sequences, queries and keys of each, microseconds.
 */
#pragma once

#include "calibration/profile/profile.h"

typedef struct {
  char *name;
  char *alias;    /* its name in the tables of the source; NULL: none */
  char *chip;     /* devices of one chip run the same kernels */
  char *standing; /* the device under which its errors are listed; NULL: itself */
  double bandwidth_bytes_per_s, bf16_flops, fp8_flops, fp4_flops;
} OrrProfileModuleDevice;

/* What the work of a layer depends on, for one rank. */
typedef struct {
  char *name;
  double hidden;
  double weights, head_weights; /* of its products: of each rank, and of each head on it */
  double key_width, value_width;
  double topk;   /* entries that a query attends to; 0: all */
  double ratio;  /* tokens of an entry */
  double window; /* tokens that it also attends to one by one */
  double index_heads, index_width, index_weights;
  double channels, state, output; /* of a head with a state: of its convolution, elements, result */
  double state_bytes;             /* of an element of the state; 0: 4 */
} OrrProfileModuleLayer;

typedef struct {
  char *op, *device, *engine, *kernel, *weights, *cache, *layer, *mode;
  char *rows;
} OrrProfileModuleGroup;

enum { ORR_MODULE_NUMBERS = 5, ORR_MODULE_SCALES = 5, ORR_MODULE_DIFFERENCES = 9 };

typedef struct {
  char *name;
  char *kind; /* "sparse" or "linear" */
  char *source;
  double floor_s;
  GArray *scales, *differences;
  double variance, noise;
  GPtrArray *groups; /* OrrProfileModuleGroup* */
} OrrProfileModuleTable;

typedef struct {
  GPtrArray *devices; /* OrrProfileModuleDevice* */
  GPtrArray *layers;  /* OrrProfileModuleLayer* */
  GPtrArray *tables;  /* OrrProfileModuleTable* */
} OrrProfileModules;

extern const OrrFieldTable orr_profile_modules_table;

/* Checks names, numbers and rows. @map: of the section; NULL: absent. */
void orr_profile_modules_check(const OrrProfileModules *modules, const OrrNode *map,
                               OrrDiags *diags);

/* NULL: the section has none of that name (or alias). */
const OrrProfileModuleDevice *orr_profile_module_device(const OrrProfileModules *modules,
                                                        const char *name);
const OrrProfileModuleLayer *orr_profile_module_layer(const OrrProfileModules *modules,
                                                      const char *name);
