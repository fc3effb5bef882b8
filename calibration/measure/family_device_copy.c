/*
 * family_device_copy.c - copies by the copy engines: between pinned host memory and the device, one
 * direction at a time or both at once (`bytes` in each direction), within the device, and to a peer
 * GPU. Host memory is on the GPU's NUMA node (numa.h).
 *
 * The trend assumes 50 GB/s for the host link, and 2 bytes of traffic per copied byte within the
 * device.
 */
#include "calibration/measure/family.h"

static const char *const ways[] = {"host-to-device", "device-to-host", "both",
                                   "device",         "peer",           NULL};
enum { DEVICE = 3, PEER };
static const OrrShapeColumn columns[] = {
    {"way", ways, TRUE}, {"bytes", NULL, FALSE}, {NULL, NULL, FALSE}};

static void plan(const OrrMeasureFamily *family, const OrrBenchFacts *facts, GArray *shapes) {
  for (int way = 0; ways[way]; way++)
    for (gint64 bytes = 8; bytes <= (gint64)1 << 30 && (way != PEER || facts->n_gpus > 1);
         bytes *= 2) {
      const gint64 values[] = {way, bytes};
      orr_family_add(family, shapes, values);
    }
}

static OrrShapeWork work(const OrrShape *shape, const OrrBenchFacts *facts) {
  const double bytes = shape->at[1];
  if (shape->at[0] == DEVICE) return (OrrShapeWork){.bytes = 2 * bytes, .dtype = ORR_FP32};
  return (OrrShapeWork){
      .bytes = bytes, .dtype = ORR_FP32, .bytes_per_s = shape->at[0] == PEER ? 2e11 : 5e10};
}

const OrrMeasureFamily orr_family_device_copy = {
    .entry = {"device-copy",
              "Copies: pinned host memory and the device, both ways; within the device; to a peer.",
              NULL},
    .columns = columns,
    .min_gpus = 1,
    .skipped_name = "copies to a peer GPU (NVLink or PCIe)",
    .plan = plan,
    .work = work};
