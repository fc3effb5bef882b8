/*
 * known_gpu.h - which device of the library a dump's GPU is: by its PCI id, its name, its compute
 * capability, the number of its NVLinks.
 */
#ifndef ORR_KNOWN_GPU_H
#define ORR_KNOWN_GPU_H

#include "sim/import/topology/dump.h"

G_BEGIN_DECLS

typedef struct {
  const char *device;   /* in the library; NULL: it has none for it */
  const char *label;    /* "A100 SXM 80 GB" */
  guint16 ids[4];       /* PCI, vendor NVIDIA or AMD */
  const char *names[5]; /* parts of the names that tools print, upper case */
  int sm;               /* compute capability; 0: AMD */
  const char *gcn;      /* AMD's architecture */
  guint nvlinks;        /* of the GPU, to others; 0: none */
} OrrKnownGpu;

extern const OrrKnownGpu orr_known_gpus[]; /* ends with a NULL label */

/* The entries that @kind can be (const OrrKnownGpu *), most likely first; empty: it shows nothing
 * by which to tell, or something that no entry has (then *@ret_shown names it; newly allocated,
 * else NULL). */
GPtrArray *orr_known_gpu_match(const OrrDumpKind *kind, char **ret_shown);

G_END_DECLS

#endif
