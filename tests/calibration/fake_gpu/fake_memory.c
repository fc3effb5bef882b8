/*
 * fake_memory.c - memory that computes what it holds when it is read.
 *
 *   allocation   [ base ........................ bytes )   reserved pages, untouched
 *   writes       fill | product | bias      in order; each has the granules that are computed
 *
 * fake_touch goes through the writes of a range in order and computes the granules that are
 * missing; a recipe touches its own operands. The operands of a write that was not read must not
 * change before somebody reads it: checks read before the next launch.
 */
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "calibration/measure/reference.h"
#include "tests/calibration/fake_gpu/fake_gpu.h"

typedef struct {
  gsize first, bytes, granule;
  FakeRecipe recipe;
  gpointer context;
  gsize context_bytes;
  gboolean in_place;
  GHashTable *done; /* of granule + 1 */
} Write;

typedef struct {
  char *base;
  gsize bytes;
  int device; /* -1: the host's */
  GPtrArray *writes;
} Allocation;

static GPtrArray *allocations;
static double used_bytes[FAKE_MOST_GPUS];
static gint64 n_allocated;

static void write_free(gpointer data) {
  Write *write = data;
  g_hash_table_unref(write->done);
  g_free(write->context);
  g_free(write);
}

static Allocation *add_allocation(void *base, gsize bytes, int device) {
  Allocation *allocation = g_new0(Allocation, 1);
  *allocation = (Allocation){base, bytes, device, g_ptr_array_new_with_free_func(write_free)};
  if (!allocations) allocations = g_ptr_array_new();
  g_ptr_array_add(allocations, allocation);
  return allocation;
}

static Allocation *find(const void *at) {
  static guint last;
  const char *place = at;
  for (guint k = 0; allocations && k < allocations->len; k++) {
    const guint i = (last + k) % allocations->len;
    Allocation *allocation = allocations->pdata[i];
    if (place < allocation->base || place >= allocation->base + allocation->bytes) continue;
    last = i;
    return allocation;
  }
  return NULL;
}

static void remove_allocation(Allocation *allocation) {
  g_ptr_array_remove_fast(allocations, allocation);
  g_ptr_array_unref(allocation->writes);
  g_free(allocation);
}

void *fake_alloc(int device, gsize bytes) {
  if (++n_allocated == fake_faults()->oom || used_bytes[device] + bytes > fake_memory_bytes())
    return NULL;
  void *base =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return NULL;
  used_bytes[device] += bytes;
  add_allocation(base, bytes, device);
  return base;
}

void fake_free(void *memory) {
  Allocation *allocation = find(memory);
  if (!allocation) return;
  used_bytes[allocation->device] -= allocation->bytes;
  munmap(allocation->base, allocation->bytes);
  remove_allocation(allocation);
}

void fake_register_host(void *memory, gsize bytes) { add_allocation(memory, bytes, -1); }

void fake_unregister_host(void *memory) {
  Allocation *allocation = find(memory);
  if (allocation) remove_allocation(allocation);
}

gboolean fake_is_known(const void *memory) { return find(memory) != NULL; }

double fake_free_bytes(int device) { return fake_memory_bytes() - used_bytes[device]; }

/* --- Writes --- */

/* Removes writes that the new one hides. TRUE: the new one itself does not count. */
static gboolean is_hidden(Allocation *allocation, const Write *new) {
  for (guint i = allocation->writes->len; i-- > 0;) {
    const Write *old = allocation->writes->pdata[i];
    const gboolean is_same = old->recipe == new->recipe && old->first == new->first;
    if (new->in_place && is_same) return TRUE;
    if (!new->in_place && old->first >= new->first &&
        old->first + old->bytes <= new->first + new->bytes)
      g_ptr_array_remove_index(allocation->writes, i);
  }
  return FALSE;
}

void fake_write(void *out, gsize bytes, gsize granule, FakeRecipe recipe, gconstpointer context,
                gsize context_bytes, gboolean in_place) {
  Allocation *allocation = find(out);
  g_assert(allocation && granule > 0);
  const gsize first = (gsize)((char *)out - allocation->base);
  const Write write = {.first = first,
                       .bytes = MIN(bytes, allocation->bytes - first),
                       .granule = granule,
                       .recipe = recipe,
                       .in_place = in_place};
  if (is_hidden(allocation, &write)) return;
  Write *kept = g_memdup2(&write, sizeof write);
  kept->context = g_memdup2(context, context_bytes);
  kept->context_bytes = context_bytes;
  kept->done = g_hash_table_new(NULL, NULL);
  g_ptr_array_add(allocation->writes, kept);
}

static void compute(const Allocation *allocation, const Write *write, gsize from, gsize to) {
  if (to <= write->first || from >= write->first + write->bytes) return;
  const gsize first = from > write->first ? (from - write->first) / write->granule : 0;
  const gsize end = MIN(to - write->first, write->bytes);
  for (gsize i = first; i * write->granule < end; i++)
    if (g_hash_table_add(write->done, GSIZE_TO_POINTER(i + 1)))
      write->recipe(write->context, i, allocation->base + write->first + i * write->granule);
}

void fake_touch(const void *at, gsize bytes) {
  const Allocation *allocation = find(at);
  if (!allocation) return;
  const gsize from = (gsize)((const char *)at - allocation->base);
  for (guint i = 0; i < allocation->writes->len; i++)
    compute(allocation, allocation->writes->pdata[i], from, from + bytes);
}

gboolean fake_recipe_at(const void *at, FakeRecipe recipe, void *ret_context, gsize context_bytes) {
  const Allocation *allocation = find(at);
  const gsize place = allocation ? (gsize)((const char *)at - allocation->base) : 0;
  for (guint i = allocation ? allocation->writes->len : 0; i-- > 0;) {
    const Write *write = allocation->writes->pdata[i];
    if (place < write->first || place >= write->first + write->bytes) continue;
    if (write->recipe != recipe || write->context_bytes != context_bytes) return FALSE;
    memcpy(ret_context, write->context, context_bytes);
    return TRUE;
  }
  return FALSE;
}

/* --- Copies --- */

enum { COPY_GRANULE = 4096 };

typedef struct {
  const char *from;
  gsize bytes;
} CopyOf;

static void copy_granule(gconstpointer context, gsize index, void *at) {
  const CopyOf *copy = context;
  const gsize place = index * COPY_GRANULE, n = MIN(copy->bytes - place, (gsize)COPY_GRANULE);
  fake_touch(copy->from + place, n);
  memcpy(at, copy->from + place, n);
}

void fake_copy(void *to, const void *from, gsize bytes) {
  const CopyOf copy = {from, bytes};
  fake_write(to, bytes, COPY_GRANULE, copy_granule, &copy, sizeof copy, FALSE);
}

static void nothing(gconstpointer context, gsize index, void *at) {
  (void)context, (void)index, (void)at;
}

/* The bytes are there at once; the write hides what was computed before. */
void fake_put(void *to, const void *from, gsize bytes) {
  if (bytes == 0) return;
  fake_touch(to, bytes); /* of granules that it covers in part */
  memcpy(to, from, bytes);
  fake_write(to, bytes, bytes, nothing, NULL, 0, FALSE);
}

/* --- Numbers --- */

gsize fake_bytes(int format, gsize n) { return orr_format_bytes((OrrFormat)format, n); }

double fake_decode(int format, const void *data, gsize index) {
  const gsize at = format == ORR_FORMAT_E2M1 ? index / 2 : fake_bytes(format, index);
  fake_touch((const char *)data + at, format == ORR_FORMAT_E2M1 ? 1 : fake_bytes(format, 1));
  return orr_format_decode((OrrFormat)format, data, index);
}

/* The values of all codes of a format of 8 or 16 bits. */
static const float *values_of(int format) {
  enum { FORMATS = 6 };
  static float *tables[FORMATS];
  const guint n = fake_bytes(format, 1) == 1 ? 256 : 65536;
  if (tables[format]) return tables[format];
  tables[format] = g_new(float, n);
  for (guint code = 0; code < n; code++) {
    const guint16 bits = (guint16)code;
    tables[format][code] = (float)orr_format_decode((OrrFormat)format, &bits, 0);
  }
  return tables[format];
}

void fake_decode_line(int format, const void *data, gsize first, gsize n, float *ret_values) {
  const gsize size = fake_bytes(format, 1);
  const char *at = (const char *)data + fake_bytes(format, first);
  fake_touch(at, fake_bytes(format, n));
  if (format == ORR_FORMAT_FP32) {
    memcpy(ret_values, at, n * sizeof *ret_values);
  } else if (format == ORR_FORMAT_E2M1) {
    for (gsize i = 0; i < n; i++)
      ret_values[i] = (float)orr_format_decode(ORR_FORMAT_E2M1, data, first + i);
  } else {
    const float *values = values_of(format);
    for (gsize i = 0; i < n; i++)
      ret_values[i] = values[size == 1 ? ((const guint8 *)at)[i] : ((const guint16 *)at)[i]];
  }
}

/* The code of a narrow format whose value is nearest; formats saturate. */
static guint8 nearest_code(int format, guint n_codes, double value) {
  guint8 best = 0;
  double least = INFINITY;
  for (guint code = 0; code < n_codes; code++) {
    const guint8 byte = (guint8)code;
    const double off = fabs(orr_format_decode((OrrFormat)format, &byte, 0) - value);
    if (!(off < least)) continue;
    least = off;
    best = byte;
  }
  return best;
}

static guint16 bf16_of(float value) {
  guint32 bits;
  memcpy(&bits, &value, sizeof bits);
  return (guint16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* binary16: 10 bits of fraction, exponents from -14 (and its subnormals) to 15. */
static guint16 fp16_of(double value) {
  const guint16 sign = signbit(value) ? 0x8000 : 0;
  int exponent;
  const double size = fabs(value);
  if (size == 0) return sign;
  (void)frexp(size, &exponent);
  const int least = MAX(exponent - 1, -14);
  const double units = rint(ldexp(size, 10 - least)); /* 1024 .. 2048 unless subnormal */
  const int code = (int)units + (least + 14) * 1024;
  return sign | (guint16)MIN(code, 0x7c00);
}

void fake_encode(int format, double value, void *data, gsize index) {
  guint8 *bytes = data;
  switch (format) {
  case ORR_FORMAT_FP32:
    ((float *)data)[index] = (float)value;
    break;
  case ORR_FORMAT_FP16:
    ((guint16 *)data)[index] = fp16_of(value);
    break;
  case ORR_FORMAT_BF16:
    ((guint16 *)data)[index] = bf16_of((float)value);
    break;
  case ORR_FORMAT_E2M1: {
    const guint8 code = nearest_code(format, 16, value);
    bytes[index / 2] = index % 2 ? (guint8)((bytes[index / 2] & 0x0f) | code << 4)
                                 : (guint8)((bytes[index / 2] & 0xf0) | code);
    break;
  }
  default:
    bytes[index] = nearest_code(format, 256, value);
  }
}
