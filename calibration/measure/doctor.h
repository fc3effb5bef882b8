/*
 * doctor.h - what would spoil a measurement, before it starts: `orrery calibrate doctor`.
 *
 * The device layer reads facts (OrrDoctorFacts) without making a context on any GPU; rules turn
 * them into findings. A problem makes rows wrong or rows of another machine, and should be mended
 * first. A note is for readers of the rows. Facts that the driver does not report
 * are unknown, and a finding says so: they never count as good.
 */
#pragma once

#include "sim/base/ground.h"

/* One GPU as its driver reports it; NAN or -1 where it does not. */
typedef struct {
  double watts, celsius;
  double clock_hz, default_clock_hz; /* the SMs' application clock, and its default */
  double limit_watts, default_limit_watts;
  gint64 throttle;                 /* NVML's clock event reasons at present */
  gint64 n_others;                 /* processes with a context on it, without this one */
  gint64 n_links_up, n_links_down; /* NVLinks */
  int persistence, ecc, mig;
} OrrDoctorGpu;

OrrDoctorGpu orr_doctor_gpu_new(void); /* nothing is known */

/* How the vendor calls its runtime and libraries, for the topics. Static. */
typedef struct {
  const char *runtime, *blas, *dnn, *ccl;
  gboolean has_nvml; /* NVML exists: what it alone reports is expected to be known */
} OrrDoctorNames;

/* Owns its texts; "" where a library was not found. */
typedef struct {
  char *device, *driver, *blas, *dnn, *ccl;
  const OrrDoctorNames *names;
  /* 12090: 12.9 of the runtime; what the driver supports, and what is used */
  int driver_supports, runtime;
  gboolean has_nvml;
  GArray *gpus;             /* of OrrDoctorGpu */
  gint64 n_fabric_adapters; /* InfiniBand and RoCE */
  int peer_memory, dma_buf; /* GPUDirect RDMA: the module nvidia_peermem; dma-buf */
} OrrDoctorFacts;

extern const OrrDoctorNames orr_doctor_names_nvidia;

OrrDoctorFacts *orr_doctor_facts_new(void); /* with these names */
void orr_doctor_facts_free(OrrDoctorFacts *facts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrDoctorFacts, orr_doctor_facts_free)

/* Sets n_fabric_adapters and peer_memory from @sysfs ("/sys"). */
void orr_doctor_read_system(OrrDoctorFacts *facts, const char *sysfs);

typedef enum {
  ORR_DOCTOR_OK,
  ORR_DOCTOR_NOTE,
  ORR_DOCTOR_PROBLEM,
  ORR_DOCTOR_UNKNOWN
} OrrDoctorWord;

typedef struct {
  OrrDoctorWord word;
  const char *topic;
  char *text;
} OrrDoctorFinding;

/* A GPtrArray of OrrDoctorFinding: one or more for each topic, in a fixed order. GPUs with the same
 * finding share it. @environment: of g_get_environ(), whose variables may change times. */
GPtrArray *orr_doctor_findings(const OrrDoctorFacts *facts, char **environment);
