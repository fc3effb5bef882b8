/*
 * fake_nccl.c - libnccl on the fake machine: communicators of the GPUs of one process, and of
 * processes that share a file in memory.
 *
 * A collective is a meeting of its members (fake_gpu.h): it begins when the last one has come. In
 * a job each rank writes into its place of a shared file when it has come and what it brings:
 *
 *   file    [ arrived ][ seat of round 0: rank 0, 1 .. ][ round 1 ] ... [ round ROUNDS - 1 ]
 *   seat    round, time, the constant that its operand holds or its bytes
 *
 * No rank writes a seat of round r + ROUNDS before all have read round r, since it passes round
 * r + 1 only when all have come there.
 */
#include <fcntl.h>
#include <math.h>
#ifdef ORR_HIP
#include <rccl.h>
#else
#include <nccl.h>
#endif
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "calibration/measure/reference.h"
#include "tests/calibration/fake_gpu/fake_gpu.h"
#include "tests/calibration/fake_gpu/fake_kernels.h"

enum { SPLITS = 8, ROUNDS = 8, SMALL_BYTES = 1024, MOST_RANKS = 1024 };
enum { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, REDUCE, SEND_RECV };

/* What a member brings: small operands whole, others as the constant that they hold. */
typedef struct {
  double value;
  gboolean is_constant;
  gsize n_bytes;
  char bytes[SMALL_BYTES];
} Operand;

typedef struct {
  volatile gint64 round; /* of the last arrival, from 1 */
  double ready_us;
  Operand operand;
} Seat;

typedef struct {
  volatile gint32 n_arrived;
  volatile gint32 colors[SPLITS][MOST_RANKS]; /* of splits in their order: 2 and the color */
  Seat seats[];                               /* ROUNDS x ranks */
} Board;

struct ncclComm {
  int rank, n_ranks, n_local; /* n_local: GPUs of this process */
  Board *board;               /* of a job; NULL: all are in this process */
  gint64 round;
  int n_splits;
  int blocks; /* thread blocks of a collective */
  gboolean is_aborted;
  ncclUniqueId id;
};

typedef struct {
  int op, type, root, reduction;
  gsize n;
  gsize slice_bytes; /* of all-to-all: what goes to each rank; 0: another pattern */
} Call;

typedef struct {
  const char *in;
  char *out;
  struct ncclComm *comm;
  double ready_us;
  gboolean has_come;
  Operand operand;
} Member;

typedef struct {
  Call call;
  int n_members; /* of this process */
  gint64 round;
  gboolean is_hung;
  Member members[FAKE_MOST_GPUS];
} Meeting;

static int depth; /* of groups */

ncclResult_t ncclGetVersion(int *version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result) {
  return result == ncclInvalidArgument ? "invalid argument" : "unhandled system error";
}

/* --- Communicators --- */

static gsize board_bytes(int n_ranks) {
  return sizeof(Board) + sizeof(Seat) * ROUNDS * (gsize)n_ranks;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  const char *folder = g_getenv("ORRERY_RENDEZVOUS");
  snprintf(id->internal, sizeof id->internal, "%s/fake-nccl-%d", folder ? folder : "/tmp",
           (int)getpid());
  const int file = open(id->internal, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (file < 0) return ncclSystemError;
  const int result = ftruncate(file, (off_t)board_bytes(MOST_RANKS));
  close(file);
  return result == 0 ? ncclSuccess : ncclSystemError;
}

static struct ncclComm *join(int n_ranks, const ncclUniqueId *id, int rank) {
  const int file = open(id->internal, O_RDWR);
  if (file < 0) return NULL;
  Board *board = mmap(NULL, board_bytes(n_ranks), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (board == MAP_FAILED) return NULL;
  if (rank == fake_faults()->absent)
    for (;;) pause(); /* hangs, until a test ends it */
  struct ncclComm *comm = g_new0(struct ncclComm, 1);
  *comm = (struct ncclComm){.rank = rank,
                            .n_ranks = n_ranks,
                            .n_local = 1,
                            .board = board,
                            .blocks = FAKE_NCCL_BLOCKS,
                            .id = *id};
  __sync_fetch_and_add(&board->n_arrived, 1);
  if (rank == 0 && n_ranks == 1) unlink(id->internal);
  return comm;
}

static gboolean is_complete(const struct ncclComm *comm) {
  return !comm->board || comm->board->n_arrived >= comm->n_ranks;
}

ncclResult_t ncclCommInitRank(ncclComm_t *ret_comm, int n_ranks, ncclUniqueId id, int rank) {
  struct ncclComm *comm = join(n_ranks, &id, rank);
  if (!comm) return ncclSystemError;
  while (!is_complete(comm)) usleep(200); /* without a limit, as NCCL waits */
  *ret_comm = comm;
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *ret_comm, int n_ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t *config) {
  if (config->magic != 0xcafebeef || config->size < 24) return ncclInvalidArgument;
  if (depth > 0) { /* of one process, as nccl.h has it for several GPUs of a thread */
    *ret_comm = g_new0(struct ncclComm, 1);
    **ret_comm = (struct ncclComm){
        .rank = rank, .n_ranks = n_ranks, .n_local = n_ranks, .blocks = FAKE_NCCL_BLOCKS};
    if (config->version >= 21700 && config->maxCTAs != NCCL_CONFIG_UNDEF_INT)
      (*ret_comm)->blocks = MIN(config->maxCTAs, FAKE_NCCL_BLOCKS);
    unlink(id.internal);
    return ncclSuccess;
  }
  if (config->blocking != 0) return ncclCommInitRank(ret_comm, n_ranks, id, rank);
  *ret_comm = join(n_ranks, &id, rank);
  return *ret_comm ? ncclInProgress : ncclSystemError;
}

/* Waits for the colors of all ranks. */
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *ret_comm,
                           ncclConfig_t *config) {
  const int split = comm->n_splits++;
  ncclUniqueId id = comm->id;
  int n_ranks = 0, rank = 0;
  (void)key, (void)config;
  comm->board->colors[split][comm->rank] = 2 + color;
  for (int other = 0; other < comm->n_ranks; other++) {
    while (!comm->board->colors[split][other]) usleep(200);
    if (comm->board->colors[split][other] != 2 + color) continue;
    rank += other < comm->rank;
    n_ranks++;
  }
  *ret_comm = NULL;
  if (color == NCCL_SPLIT_NOCOLOR) return ncclSuccess;
  g_snprintf(id.internal + strlen(id.internal), 16, "-%d", split);
  const int file = open(id.internal, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, (off_t)board_bytes(MOST_RANKS)) != 0) return ncclSystemError;
  close(file);
  *ret_comm = join(n_ranks, &id, rank);
  return *ret_comm ? ncclInProgress : ncclSystemError;
}

ncclResult_t ncclCommInitAll(ncclComm_t *comms, int n, const int *devices) {
  (void)devices;
  for (int i = 0; i < n; i++) {
    comms[i] = g_new0(struct ncclComm, 1);
    *comms[i] =
        (struct ncclComm){.rank = i, .n_ranks = n, .n_local = n, .blocks = FAKE_NCCL_BLOCKS};
  }
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (comm->board) munmap(comm->board, board_bytes(comm->n_ranks));
  g_free(comm);
  return ncclSuccess;
}

/* Calls in flight keep the communicator. */
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  comm->is_aborted = TRUE;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  (void)comm;
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *result) {
  *result = is_complete(comm) ? ncclSuccess : ncclInProgress;
  return ncclSuccess;
}

/* --- Meetings --- */

static int format_of(int type) {
  return type == ncclFloat16    ? ORR_FORMAT_FP16
         : type == ncclBfloat16 ? ORR_FORMAT_BF16
         : type == 10           ? ORR_FORMAT_E4M3
                                : ORR_FORMAT_FP32;
}

static gsize size_of(int type) {
  return type == ncclInt8 || type == 10                     ? 1
         : type == ncclInt64                                ? 8
         : type == ncclFloat16 || type == (int)ncclBfloat16 ? 2
                                                            : 4;
}

static void look_at(Member *member, const Call *call) {
  Operand *operand = &member->operand;
  operand->n_bytes = MIN(call->n * size_of(call->type), (gsize)SMALL_BYTES);
  operand->is_constant = fake_kernels_constant(member->in, &operand->value);
  if (operand->is_constant || call->n * size_of(call->type) > SMALL_BYTES) return;
  fake_touch(member->in, operand->n_bytes);
  memcpy(operand->bytes, member->in, operand->n_bytes);
}

static Seat *seat_of(const struct ncclComm *comm, gint64 round, int rank) {
  return &comm->board->seats[(round % ROUNDS) * comm->n_ranks + rank];
}

static void arrive(gpointer context, int index, double ready_us) {
  Meeting *meeting = context;
  Member *member = &meeting->members[index];
  member->ready_us = ready_us;
  member->has_come = TRUE;
  look_at(member, &meeting->call);
  if (!member->comm->board) return;
  Seat *seat = seat_of(member->comm, meeting->round, member->comm->rank);
  seat->operand = member->operand;
  seat->ready_us = ready_us;
  __sync_synchronize();
  seat->round = meeting->round;
}

static gboolean is_met(gpointer context, double *ret_begin_us) {
  const Meeting *meeting = context;
  const struct ncclComm *comm = meeting->members[0].comm;
  double begin_us = 0;
  if (comm->is_aborted) {
    *ret_begin_us = 0;
    return TRUE;
  }
  if (meeting->is_hung) return FALSE;
  for (int i = 0; i < meeting->n_members; i++) {
    if (!meeting->members[i].has_come) return FALSE;
    begin_us = fmax(begin_us, meeting->members[i].ready_us);
  }
  /* Clocks of processes differ: each begins at its own time. */
  for (int rank = 0; comm->board && rank < comm->n_ranks; rank++)
    if (seat_of(comm, meeting->round, rank)->round < meeting->round) return FALSE;
  *ret_begin_us = begin_us;
  return TRUE;
}

static const Operand *operand_of(const Meeting *meeting, int rank) {
  const struct ncclComm *comm = meeting->members[0].comm;
  return comm->board ? &seat_of(comm, meeting->round, rank)->operand
                     : &meeting->members[rank].operand;
}

/* The results of constants are constants: of each slice. */
static double sum_of(const Meeting *meeting) {
  double sum = 0;
  for (int rank = 0; rank < meeting->members[0].comm->n_ranks; rank++)
    sum += operand_of(meeting, rank)->value;
  return sum;
}

static void write_constant(char *out, const Call *call, gsize n, double value) {
  fake_kernels_write_constant(out, format_of(call->type), n, value);
}

static void write_slices(const Meeting *meeting, char *out, gsize slice_bytes) {
  const Call *call = &meeting->call;
  for (int rank = 0; rank < meeting->members[0].comm->n_ranks; rank++)
    write_constant(out + (gsize)rank * slice_bytes, call, slice_bytes / size_of(call->type),
                   operand_of(meeting, rank)->value);
}

/* Small messages of bytes and of 64-bit numbers: what ranks tell each other. */
static void write_small(const Meeting *meeting, char *out) {
  const Call *call = &meeting->call;
  const gsize bytes = call->n * size_of(call->type);
  if (call->op == BROADCAST) {
    fake_put(out, operand_of(meeting, call->root)->bytes, bytes);
  } else if (call->type == ncclInt64) {
    gint64 most = G_MININT64;
    for (int rank = 0; rank < meeting->members[0].comm->n_ranks; rank++)
      most = MAX(most, *(const gint64 *)(const void *)operand_of(meeting, rank)->bytes);
    fake_put(out, &most, sizeof most);
  }
}

static void finish(gpointer context, int index) {
  const Meeting *meeting = context;
  const Member *member = &meeting->members[index];
  const Call *call = &meeting->call;
  const struct ncclComm *comm = member->comm;
  const gsize slice = call->n * size_of(call->type);
  if (comm->is_aborted) return;
  if (call->type == ncclInt64 || call->type == ncclInt8) {
    write_small(meeting, member->out);
    return;
  }
  if (!member->operand.is_constant) return; /* random data: nobody checks the result */
  if (call->op == ALL_REDUCE || call->op == REDUCE_SCATTER ||
      (call->op == REDUCE && comm->rank == call->root))
    write_constant(member->out, call, call->n, sum_of(meeting));
  else if (call->op == BROADCAST)
    write_constant(member->out, call, call->n, operand_of(meeting, call->root)->value);
  else if (call->op == ALL_GATHER)
    write_slices(meeting, member->out, slice);
  else if (call->op == SEND_RECV && call->slice_bytes)
    write_slices(meeting, member->out, call->slice_bytes);
  else if (call->op == SEND_RECV)
    write_constant(member->out, call, call->n,
                   operand_of(meeting, (comm->rank + comm->n_ranks - 1) % comm->n_ranks)->value);
}

static const FakeMeetingKind meeting_kind = {arrive, is_met, finish, g_free, NULL};

/* Ring algorithms: steps, and bytes through each link. */
static FakeWork cost_of(const Call *call, int n_ranks, int blocks) {
  const double n = n_ranks, whole = (double)(call->n * size_of(call->type));
  const double bytes = call->op == ALL_REDUCE ? 2 * (n - 1) / n * whole
                       : call->op == ALL_GATHER || call->op == REDUCE_SCATTER ? (n - 1) * whole
                       : call->op == SEND_RECV && call->slice_bytes
                           ? (n - 1) * (double)call->slice_bytes
                           : whole;
  const double steps = call->op == ALL_REDUCE ? 2 * (n - 1) : n - 1;
  const double rate =
      FAKE_LINK_BYTES_PER_S * fake_faults()->link * fmin((double)blocks / FAKE_NCCL_FULL_BLOCKS, 1);
  return (FakeWork){.kind = FAKE_COMM,
                    .blocks = blocks,
                    .fixed_us = FAKE_COLLECTIVE_US + FAKE_STEP_US * steps,
                    .memory_us = bytes / rate * 1e6,
                    .watts = FAKE_COMM_WATTS};
}

static gint64 n_calls;

static void meet_faults(Meeting *meeting, const struct ncclComm *comm) {
  const FakeFaults *faults = fake_faults();
  n_calls++;
  if (faults->hang == n_calls) meeting->is_hung = TRUE;
  if (faults->die == comm->rank && n_calls == faults->die_at) _exit(7);
  if (faults->slow_post > 0 && n_calls >= faults->slow_post) fake_spend_us(faults->slow_us);
}

static Meeting *meeting_of(const Call *call, const Member *members, int n) {
  Meeting *meeting = g_new0(Meeting, 1);
  meeting->call = *call;
  meeting->n_members = n;
  memcpy(meeting->members, members, sizeof *members * (gsize)n);
  meeting->round = ++members[0].comm->round;
  meet_faults(meeting, members[0].comm);
  return meeting;
}

static FakeMeeting *made_of(Meeting *meeting) {
  FakeMeetingKind kind = meeting_kind;
  kind.context = meeting;
  return fake_meeting_new(&kind, meeting->n_members);
}

/* --- Groups of calls --- */

typedef struct {
  Call call;
  Member member;
  FakeStream *stream;
} Posted;

static GArray *posted; /* of Posted: since the group began */

/* A captured call of one rank, made anew with each launch. */
static FakeMeeting *make_again(gpointer user) {
  const Posted *one = user;
  return made_of(meeting_of(&one->call, &one->member, 1));
}

static void post_together(const Posted *calls, int n, const struct ncclComm *comm) {
  Member members[FAKE_MOST_GPUS];
  const FakeWork work = cost_of(&calls[0].call, comm->n_ranks, comm->blocks);
  for (int i = 0; i < n; i++) members[i] = calls[i].member;
  fake_spend_us(2.5 * n);
  if (fake_stream_is_capturing(calls[0].stream)) {
    Posted *kept = g_rc_box_new(Posted);
    *kept = calls[0];
    fake_capture_meeting(calls[0].stream, &work, make_again, kept);
    return;
  }
  FakeMeeting *meeting = made_of(meeting_of(&calls[0].call, members, n));
  for (int i = 0; i < n; i++) fake_post_meeting(calls[i].stream, &work, meeting, i);
}

/* The sends and receives of a group are one exchange for each rank. */
static guint join_exchange(guint first) {
  Posted *one = &g_array_index(posted, Posted, first);
  guint end = first + 1;
  while (end < posted->len && g_array_index(posted, Posted, end).call.op == SEND_RECV &&
         g_array_index(posted, Posted, end).member.comm == one->member.comm) {
    const Posted *next = &g_array_index(posted, Posted, end++);
    if (next->member.out && (!one->member.out || next->member.out < one->member.out))
      one->member.out = next->member.out;
    if (next->member.in && (!one->member.in || next->member.in < one->member.in))
      one->member.in = next->member.in;
  }
  if (end - first > 2) one->call.slice_bytes = one->call.n * size_of(one->call.type);
  return end;
}

ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);

ncclResult_t ncclGroupStart(void) {
  depth++;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void) {
  if (--depth > 0 || !posted) return ncclSuccess;
  g_autoptr(GArray) calls = g_array_new(FALSE, TRUE, sizeof(Posted));
  for (guint i = 0; i < posted->len;) {
    const guint end =
        g_array_index(posted, Posted, i).call.op == SEND_RECV ? join_exchange(i) : i + 1;
    g_array_append_val(calls, g_array_index(posted, Posted, i));
    i = end;
  }
  g_array_set_size(posted, 0);
  const Posted *first = (const Posted *)(void *)calls->data;
  const int n_local = calls->len ? first->member.comm->n_local : 1;
  for (guint i = 0; i + (guint)n_local <= calls->len; i += (guint)n_local)
    post_together(first + i, n_local, first->member.comm);
  return ncclSuccess;
}

static ncclResult_t post(Call call, const void *in, void *out, ncclComm_t comm,
                         cudaStream_t stream) {
  const Posted one = {call, {.in = in, .out = out, .comm = comm}, (FakeStream *)(void *)stream};
  if (!posted) posted = g_array_new(FALSE, TRUE, sizeof(Posted));
  ncclGroupStart();
  g_array_append_val(posted, one);
  return ncclGroupEnd();
}

ncclResult_t ncclAllReduce(const void *in, void *out, size_t n, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  return post((Call){.op = ALL_REDUCE, .type = (int)type, .reduction = (int)op, .n = n}, in, out,
              comm, stream);
}

ncclResult_t ncclAllGather(const void *in, void *out, size_t n, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return post((Call){.op = ALL_GATHER, .type = (int)type, .n = n}, in, out, comm, stream);
}

ncclResult_t ncclReduceScatter(const void *in, void *out, size_t n, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return post((Call){.op = REDUCE_SCATTER, .type = (int)type, .reduction = (int)op, .n = n}, in,
              out, comm, stream);
}

ncclResult_t ncclBroadcast(const void *in, void *out, size_t n, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return post((Call){.op = BROADCAST, .type = (int)type, .root = root, .n = n}, in, out, comm,
              stream);
}

ncclResult_t ncclReduce(const void *in, void *out, size_t n, ncclDataType_t type, ncclRedOp_t op,
                        int root, ncclComm_t comm, cudaStream_t stream) {
  return post((Call){.op = REDUCE, .type = (int)type, .reduction = (int)op, .root = root, .n = n},
              in, out, comm, stream);
}

ncclResult_t ncclSend(const void *in, size_t n, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return post((Call){.op = SEND_RECV, .type = (int)type, .root = peer, .n = n}, in, NULL, comm,
              stream);
}

ncclResult_t ncclRecv(void *out, size_t n, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return post((Call){.op = SEND_RECV, .type = (int)type, .root = peer, .n = n}, NULL, out, comm,
              stream);
}
