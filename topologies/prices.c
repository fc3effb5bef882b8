/*
 * prices.c - the field table of prices, and the arithmetic of a purchase.
 */
#include "topologies/prices.h"

#include "topologies/fabric.h"

#define HOURS_PER_YEAR 8766.0 /* 365.25 days */

#define PRICE(type_, key_, member_, sentence_)                                                     \
  ORR_FIELD_REAL(type_, key_, member_, ORR_UNIT_NONE, NULL, sentence_,                             \
                 .flags = ORR_FIELD_OPTIONAL | ORR_FIELD_POSITIVE)
#define RATE(sentence_)                                                                            \
  ORR_FIELD_REAL(OrrPartPrice, "rate", bytes_per_s, ORR_UNIT_BYTES_PER_S, NULL, sentence_,         \
                 .flags = ORR_FIELD_POSITIVE)
#define EACH(sentence_)                                                                            \
  ORR_FIELD_REAL(OrrPartPrice, "price", price, ORR_UNIT_NONE, NULL, sentence_,                     \
                 .flags = ORR_FIELD_POSITIVE)

static const OrrFieldTable switch_table = ORR_FIELDS(
    "switches", "The price of a switch.", OrrPartPrice,
    ORR_FIELD_INT(OrrPartPrice, "ports", ports, NULL, "Ports of the switch.", .min = 1, .max = 1e6),
    RATE("Rate of a port, one direction."), EACH("Price of one switch."));

static const OrrFieldTable optic_table =
    ORR_FIELDS("optics", "The price of a transceiver.", OrrPartPrice,
               RATE("Rate of the transceiver, one direction."),
               EACH("Price of one transceiver: the end of a cable."));

static const OrrFieldTable cable_table = ORR_FIELDS(
    "cables", "The price of a cable.", OrrPartPrice, RATE("Rate of the cable, one direction."),
    ORR_FIELD_BOOL(OrrPartPrice, "copper", copper, "false",
                   "Copper, with its ends (cluster.copper); otherwise fibre without transceivers."),
    EACH("Price of one cable."));

static const OrrFieldTable device_table =
    ORR_FIELDS("devices", "The prices of one device.", OrrDevicePrice,
               ORR_FIELD_TEXT(OrrDevicePrice, "device", device, NULL, "Name of the device."),
               PRICE(OrrDevicePrice, "gpu-hour", gpu_hour, "Rent of one GPU for one hour."),
               PRICE(OrrDevicePrice, "gpu", gpu, "Price of one GPU."),
               PRICE(OrrDevicePrice, "node", node, "Price of one node without its GPUs and NICs."));

#define PARTS(key_, member_, table_, sentence_)                                                    \
  ORR_FIELD_SECTIONS(OrrPrices, key_, member_, table_, NULL, sentence_, .flags = ORR_FIELD_OPTIONAL)

static const OrrField fields[] = {
    ORR_FIELD_TEXT(OrrPrices, "name", name, "custom", "Name of the prices in results."),
    ORR_COLUMN_TEXT(OrrPrices, "source", source, "Where the numbers are from."),
    ORR_FIELD_TEXT(OrrPrices, "currency", currency, NULL,
                   "Currency of all prices, e.g. EUR; only printed."),
    PRICE(OrrPrices, "gpu-hour", gpu_hour,
          "Rent of one GPU for one hour, with its part of the node and the network; instead of "
          "prices of purchase."),
    PRICE(OrrPrices, "gpu", gpu, "Purchase of one GPU."),
    PRICE(OrrPrices, "node", node, "Purchase of one node without its GPUs and NICs."),
    PRICE(OrrPrices, "nic", nic, "Purchase of one NIC."),
    PRICE(OrrPrices, "scale-up-switch", scale_up_switch,
          "Purchase of one switch tray of a scale-up domain that spans nodes, with its cables."),
    PRICE(OrrPrices, "storage-server", storage_server,
          "Purchase of one server of cluster.storage."),
    PARTS("devices", devices, &device_table, "Devices whose prices differ from these."),
    PARTS("switches", switches, &switch_table,
          "Purchase of switches; absent: left out of the cost."),
    PARTS("optics", optics, &optic_table,
          "Purchase of transceivers; absent: left out of the cost."),
    PARTS("cables", cables, &cable_table, "Purchase of cables; absent: left out of the cost."),
    PRICE(OrrPrices, "lifetime-years", lifetime_years,
          "Years over which a purchase is written off."),
    ORR_FIELD_REAL(OrrPrices, "utilisation", utilisation, ORR_UNIT_FRACTION, NULL,
                   "Fraction of the lifetime in which the GPUs run jobs.",
                   .flags = ORR_FIELD_OPTIONAL | ORR_FIELD_POSITIVE, .min = 1e-6, .max = 1),
    PRICE(OrrPrices, "kwh", kwh,
          "Price of one kWh at the meter; absent: energy is left out of the cost."),
    ORR_FIELD_REAL(OrrPrices, "pue", pue, ORR_UNIT_NONE, NULL,
                   "Energy at the meter over the machine's (power usage effectiveness); absent: 1.",
                   .flags = ORR_FIELD_OPTIONAL, .min = 1, .max = 10),
    PRICE(OrrPrices, "carbon-grams-per-kwh", carbon_grams_per_kwh,
          "Grams of CO2 for each kWh at the meter; absent: no carbon is computed."),
};

static const OrrMovedKey moved[] = {
    {"gpu-hour-price", "gpu-hour"}, {"price-per-gpu-hour", "gpu-hour"}, {NULL, NULL}};

const OrrFieldTable orr_prices_table = {
    .name = "prices",
    .sentence =
        "Prices of GPUs, networks and energy; items without a price are left out of every sum.",
    .size = sizeof(OrrPrices),
    .fields = fields,
    .n_fields = G_N_ELEMENTS(fields),
    .moved = moved};

gboolean orr_prices_given(const OrrPrices *prices) { return prices && prices->currency; }

/* --- Items --- */

static const OrrDevicePrice *find_device(const OrrPrices *prices, const char *device) {
  ORR_EACH_POINTER(const OrrDevicePrice, one, prices->devices)
    if (g_strcmp0(one->device, device) == 0) return one;
  return NULL;
}

static double first_given(double own, double common) {
  return own > 0 ? own : common > 0 ? common : NAN;
}

static double gpu_price(const OrrPrices *prices, const char *device) {
  const OrrDevicePrice *own = find_device(prices, device);
  return first_given(own ? own->gpu : 0, prices->gpu);
}

static double node_price(const OrrPrices *prices, const char *device) {
  const OrrDevicePrice *own = find_device(prices, device);
  return first_given(own ? own->node : 0, prices->node);
}

static double rent(const OrrPrices *prices, const char *device) {
  const OrrDevicePrice *own = find_device(prices, device);
  return first_given(own ? own->gpu_hour : 0, prices->gpu_hour);
}

/* Rates are nominal, as both documents write them. */
static gboolean fits(const OrrPartPrice *part, const OrrBillItem *item) {
  return fabs(part->bytes_per_s - item->bytes_per_s) <= 1e-6 * item->bytes_per_s &&
         part->ports >= item->ports && part->copper == item->copper;
}

/* The cheapest part of the list that fits; NAN: none. */
static double part_price(const GPtrArray *parts, const OrrBillItem *item) {
  double best = NAN;
  ORR_EACH_POINTER(const OrrPartPrice, part, parts) {
    if (fits(part, item)) best = fmin(best, part->price); /* fmin ignores NAN */
  }
  return best;
}

static const GPtrArray *list_of(const OrrPrices *prices, int kind) {
  return kind == ORR_BILL_SWITCH  ? prices->switches
         : kind == ORR_BILL_OPTIC ? prices->optics
         : kind == ORR_BILL_CABLE ? prices->cables
                                  : NULL;
}

double orr_prices_item(const OrrPrices *prices, const OrrBillItem *item, const char *device) {
  switch ((OrrBillKind)item->kind) {
  case ORR_BILL_GPU:
    return gpu_price(prices, device);
  case ORR_BILL_NODE:
    return node_price(prices, device);
  case ORR_BILL_NIC:
    return first_given(prices->nic, 0);
  case ORR_BILL_SCALE_UP_SWITCH:
    return first_given(prices->scale_up_switch, 0);
  case ORR_BILL_SERVER:
    return first_given(prices->storage_server, 0);
  default:
    return part_price(list_of(prices, item->kind), item);
  }
}

static const OrrBillItem *item_at(const OrrBill *bill, guint i) {
  return &g_array_index(bill->items, OrrBillItem, i);
}

double orr_prices_machine(const OrrPrices *prices, const OrrBill *bill, const char *device) {
  double sum = 0;
  gboolean any = FALSE;
  for (guint i = 0; i < bill->items->len; i++) {
    const double each = orr_prices_item(prices, item_at(bill, i), device);
    if (isnan(each)) continue;
    sum += each * (double)item_at(bill, i)->count;
    any = TRUE;
  }
  return any ? sum : NAN;
}

double orr_prices_gpu_hour(const OrrPrices *prices, const OrrBill *bill, const char *device) {
  if (!orr_prices_given(prices)) return NAN;
  if (!(prices->lifetime_years > 0)) return rent(prices, device);
  const double gpus = (double)orr_bill_count(bill, ORR_BILL_GPU);
  return orr_prices_machine(prices, bill, device) / gpus /
         (prices->lifetime_years * HOURS_PER_YEAR * prices->utilisation);
}

/* --- Checks --- */

static gboolean has_purchase(const OrrPrices *prices) {
  gboolean own = FALSE;
  ORR_EACH_POINTER(const OrrDevicePrice, one, prices->devices) {
    own = own || one->gpu > 0 || one->node > 0;
  }
  return own || prices->gpu > 0 || prices->node > 0 || prices->nic > 0 ||
         prices->scale_up_switch > 0 || prices->storage_server > 0 || prices->switches ||
         prices->optics || prices->cables;
}

static gboolean has_rent(const OrrPrices *prices) {
  gboolean own = FALSE;
  for (guint i = 0; prices->devices && i < prices->devices->len; i++)
    own = own || ((const OrrDevicePrice *)prices->devices->pdata[i])->gpu_hour > 0;
  return own || prices->gpu_hour > 0;
}

gboolean orr_prices_has_hardware(const OrrPrices *prices) {
  return has_rent(prices) || has_purchase(prices);
}

void orr_prices_check(const OrrPrices *prices, OrrPlace place, OrrDiags *diags) {
  const gboolean bought = has_purchase(prices), rented = has_rent(prices);
  const gboolean written_off = prices->lifetime_years > 0 && prices->utilisation > 0;
  if (bought && rented)
    orr_diags_error(diags, place,
                    "prices: gpu-hour together with prices of purchase: a GPU is rented or bought, "
                    "give one");
  else if (bought && !written_off)
    orr_diags_error(diags, place,
                    "prices of purchase need lifetime-years and utilisation: an hour of a GPU is "
                    "its price over the hours in which it works");
  else if (!bought && !rented && !(prices->kwh > 0) && !(prices->carbon_grams_per_kwh > 0))
    orr_diags_error(diags, place,
                    "prices gives no price: type gpu-hour, or gpu, node ... with lifetime-years "
                    "and utilisation, or kwh");
  else if (!bought && (prices->lifetime_years > 0 || prices->utilisation > 0))
    orr_diags_error(diags, place,
                    "lifetime-years and utilisation are of a purchase, but prices has none: type "
                    "gpu, node, switches ...");
}

/* "a switch of 64 ports at 400 Gb/s"; newly allocated. */
static char *item_text(const OrrBillItem *item) {
  g_autofree char *ports =
      item->ports > 0 ? g_strdup_printf(" of %ld ports", item->ports) : g_strdup("");
  return g_strdup_printf("%s%s%s at %.5g Gb/s (%s)", item->copper ? "copper " : "",
                         orr_bill_words[item->kind], ports, item->bytes_per_s * 8 / 1e9,
                         item->layer);
}

static void check_device(const OrrPrices *prices, const char *device, OrrPlace place,
                         OrrDiags *diags) {
  const gboolean rented = has_rent(prices);
  const gboolean wants_gpu = prices->devices && has_purchase(prices);
  if (rented ? isnan(rent(prices, device)) : wants_gpu && isnan(gpu_price(prices, device)))
    orr_diags_error(diags, place, "prices %s: no %s of device %s: add it, or one for all devices",
                    prices->name, rented ? "gpu-hour" : "gpu", device);
}

static gboolean is_alike(const OrrBillItem *a, const OrrBillItem *b) {
  return a->kind == b->kind && a->ports == b->ports && a->copper == b->copper &&
         a->bytes_per_s == b->bytes_per_s;
}

/* Whether an item before item @i needs the same entry. */
static gboolean is_repeated(const OrrBill *bill, guint i) {
  for (guint k = 0; k < i; k++)
    if (is_alike(item_at(bill, k), item_at(bill, i))) return TRUE;
  return FALSE;
}

void orr_prices_check_cluster(const OrrPrices *prices, const OrrCluster *cluster, OrrPlace place,
                              OrrDiags *diags) {
  g_autoptr(OrrFabric) fabric = orr_fabric_new(cluster, 0, NULL);
  if (!fabric) return;
  g_autoptr(OrrBill) bill = orr_bill_new(fabric);
  check_device(prices, cluster->device.name, place, diags);
  for (guint i = 0; i < bill->items->len; i++) {
    const OrrBillItem *item = item_at(bill, i);
    if (!list_of(prices, item->kind) || !isnan(orr_prices_item(prices, item, NULL))) continue;
    if (is_repeated(bill, i)) continue;
    g_autofree char *text = item_text(item);
    orr_diags_error(diags, place, "prices %s: no price of %s: add one to %s%s", prices->name, text,
                    orr_bill_words[item->kind], item->kind == ORR_BILL_SWITCH ? "es" : "s");
  }
}

/* --- Text --- */

static void add_money(GString *text, double price) {
  if (isnan(price))
    g_string_append_printf(text, " %14s", "-");
  else
    g_string_append_printf(text, " %14.2f", price);
}

char *orr_prices_text(const OrrPrices *prices, const OrrBill *bill, const OrrCluster *cluster) {
  const char *device = cluster->device.name;
  GString *text = g_string_new(NULL);
  const double whole = orr_prices_machine(prices, bill, device);
  const double gpus = (double)orr_bill_count(bill, ORR_BILL_GPU);
  double network = 0;
  g_string_append_printf(text, "%-15s  %-12s %10s %14s %14s\n", "bill", "layer", "count", "each",
                         prices->currency);
  for (guint i = 0; i < bill->items->len; i++) {
    const OrrBillItem *item = item_at(bill, i);
    const double each = orr_prices_item(prices, item, device), all = each * (double)item->count;
    if (item->kind >= ORR_BILL_NIC && item->kind <= ORR_BILL_OPTIC && !isnan(all)) network += all;
    g_string_append_printf(text, "%-15s  %-12s %10ld", orr_bill_words[item->kind],
                           item->layer ? item->layer : "-", item->count);
    add_money(text, each);
    add_money(text, all);
    g_string_append_c(text, '\n');
  }
  if (!isnan(whole))
    g_string_append_printf(text, "machine          %.2f %s, %.2f per GPU; network %.2f, %.1f %%\n",
                           whole, prices->currency, whole / gpus, network, 100 * network / whole);
  const double hour = orr_prices_gpu_hour(prices, bill, device);
  if (!isnan(hour))
    g_string_append_printf(text, "gpu-hour         %.4f %s, without energy and people\n", hour,
                           prices->currency);
  return g_string_free(text, FALSE);
}
