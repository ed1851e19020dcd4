// qkv in C: attention, softmax(Q K^T / sqrt(d_k)) V, exact, with the same bits everywhere.
//
//   float q[] = {1, 2}, k[] = {1, 0, 0, 1, 1, 1}, v[] = {10, 0, 0, 10, 5, 5}, out[2];
//   qkv_tensor query, key, value, result;
//   qkv_tensor_init(&query, q, QKV_FLOAT32, 2, (int64_t[]){1, 2});
//   qkv_tensor_init(&key, k, QKV_FLOAT32, 2, (int64_t[]){3, 2});
//   qkv_tensor_init(&value, v, QKV_FLOAT32, 2, (int64_t[]){3, 2});
//   qkv_tensor_init(&result, out, QKV_FLOAT32, 2, (int64_t[]){1, 2});
//   qkv_attention_inputs inputs = {sizeof inputs, 0, &query, &key, &value};
//   qkv_attention_outputs outputs = {.struct_size = sizeof outputs, .out = &result};
//   if (qkv_attention(&inputs, &outputs, NULL, NULL) != QKV_OK) puts(qkv_last_error());
//   // out is 4.28, 5.72
//
// The C++ headers qkv/*.h say more about each part; docs/arithmetic.md has every rule and number.
// qkv_gradient.h has gradients; qkv_learn.h what lessons need: steps of a row, positions,
// saturation; qkv_train.h a model that learns.
//
// Structs. All fields 0 means: everything at its default. The first field of a struct that may grow
// is its size as the caller knows it: set it with struct_size = sizeof, or by NAME_init(). A
// smaller one, of an older header, is taken, with defaults for the rest. A larger one, of a newer
// header, is taken if the fields unknown here are 0, else QKV_UNSUPPORTED. Reserved fields must be
// 0. Arrays are a pointer and a count of elements; NULL and 0: absent. They are read during the
// call, and copied if they are needed later. Pointers to structs: NULL is absent. Offsets are the
// same on every 64-bit machine (bindings/c/layout.cc has them). On wasm32 pointers have 4 bytes,
// with 4 unused bytes after them where a 64-bit field follows.
//
// Threads. Every function may be called from any thread; one handle must not be used by two at
// once, but for qkv_cancel() and for functions that take a const handle.
#ifndef QKV_H_
#define QKV_H_

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

// ---- Failures -----------------------------------------------------------------------------------

typedef int32_t qkv_status;
enum {
  QKV_OK = 0,
  QKV_INVALID_ARGUMENT = 1,  // bad input: nothing was computed or written
  QKV_UNSUPPORTED = 2,       // good input that this build or this machine can't handle
  QKV_OUT_OF_MEMORY = 3,
  QKV_CANCELLED = 4,        // by qkv_cancel(): outputs are unspecified
  QKV_CALLBACK_FAILED = 5,  // a callback asked to stop: outputs are unspecified
};
const char* qkv_status_name(qkv_status status);  // "ok", "invalid argument", ...

// What the last failing call on this thread said: one sentence that names the argument, the shapes
// and what to do. "" before any has failed; a call that succeeds leaves it. Valid until the next
// failure on this thread.
const char* qkv_last_error(void);

// ---- The library and the machine ----------------------------------------------------------------

const char* qkv_version(void);  // "1.0.0". A change of bits is a major version.

typedef struct qkv_contract {  // which arithmetic is promised; filled by qkv_get_contract()
  uint32_t struct_size;
  int32_t version;   // changes when a bit changes
  int64_t block;     // keys whose weights are summed before they join the running sum
  int64_t span;      // keys summed in one chain of blocks; spans merge as a binary tree
  int64_t group;     // terms of one fused chain of a dot product
  const char* name;  // "A"; lives as long as the program
} qkv_contract;
qkv_status qkv_get_contract(qkv_contract* contract);

enum {                   // kernels
  QKV_ISA_BEST = 0,      // the fastest usable, or the one the variable QKV_ISA names
  QKV_ISA_PORTABLE = 1,  // any CPU
  QKV_ISA_NEON = 2,
  QKV_ISA_AVX2 = 3,
  QKV_ISA_AVX512 = 4,
};
const char* qkv_cpu_name(void);                                // "unknown" if it can't be told
const char* qkv_isa_name(int32_t isa);                         // NULL if there is no such one
qkv_status qkv_isa_from_name(const char* name, int32_t* isa);  // "best", "avx2", ...
// The kernels of this build, and those of them that this machine can run, the slowest first. *count
// is their number; at most `capacity` are written. (NULL, 0, &count) asks for the number.
qkv_status qkv_built_isas(int32_t* isas, int64_t capacity, int64_t* count);
qkv_status qkv_usable_isas(int32_t* isas, int64_t capacity, int64_t* count);

// ---- Tensors ------------------------------------------------------------------------------------

enum {
  QKV_FLOAT32 = 0,
  QKV_FLOAT16 = 1,   // IEEE binary16
  QKV_BFLOAT16 = 2,  // upper half of a binary32
  QKV_FLOAT64 = 3,
  QKV_BOOL = 4,  // one byte; 0 is false, anything else true
  QKV_UINT8 = 5,
  QKV_INT8 = 6,
  QKV_UINT16 = 7,
  QKV_INT16 = 8,
  QKV_UINT32 = 9,
  QKV_INT32 = 10,
  QKV_UINT64 = 11,
  QKV_INT64 = 12,
};
const char* qkv_dtype_name(int32_t dtype);     // "float32", ...; NULL if there is no such type
int64_t qkv_dtype_size(int32_t dtype);         // bytes of an element; 0 if there is no such type
int32_t qkv_dtype_is_floating(int32_t dtype);  // 1 for float32, float16, bfloat16, float64
qkv_status qkv_dtype_from_name(const char* name, int32_t* dtype);  // "float32" or "f32", ...

// A view of the caller's memory. The memory of inputs is never written. This struct doesn't grow.
typedef struct qkv_tensor {
  void* data;  // the element [0, 0, ...]; may be NULL if there are no elements
  int32_t dtype;
  int32_t rank;        // 0 to 4
  int64_t extents[4];  // the first `rank` count
  int64_t strides[4];  // in elements, also 0 or negative
} qkv_tensor;

// Row-major. A rank that is not 0 to 4, or no extents, gives a tensor that every call refuses.
void qkv_tensor_init(qkv_tensor* tensor, const void* data, int32_t dtype, int32_t rank,
                     const int64_t* extents);

// ---- What attention computes --------------------------------------------------------------------

// Rank 4: query [B, Hq, Lq, d_qk], key [B, Hkv, Lk, d_qk], value [B, Hkv, Lk, d_v]; rank 3 drops B,
// rank 2 also the heads. Packed: query [total_q, Hq, d_qk], key [total_k, Hkv, d_qk], value
// [total_k, Hkv, d_v]. Query head h reads key head floor(h * Hkv / Hq); Hq is a multiple of Hkv.
// float32, float16 and bfloat16, also mixed; or all float64 (some 200 times slower).
typedef struct qkv_attention_inputs {
  uint32_t struct_size;
  uint32_t reserved;
  const qkv_tensor* query;
  const qkv_tensor* key;
  const qkv_tensor* value;
} qkv_attention_inputs;

// Each may be NULL. They must not overlap inputs, each other or themselves.
typedef struct qkv_attention_outputs {
  uint32_t struct_size;
  uint32_t reserved;
  const qkv_tensor* out;  // query's shape with d_v for d_qk; float32 or a type of the inputs
  const qkv_tensor* lse;  // [B, Hq, Lq] (packed: [Hq, total_q]) float32: log of the sum of exp(s)
  const qkv_tensor* weights;  // [B, heads, rows, Lk] (packed: [heads, rows, total_k])
  const int64_t* heads;       // of the weights: query heads; absent: all
  int64_t head_count;
  const int64_t* rows;  // of the weights: rows of query; absent: all
  int64_t row_count;
  const qkv_tensor* row_max;  // as lse: each row's largest score, sink included
  const qkv_tensor* row_sum;  // as lse: its sum of exp(s - row_max)
} qkv_attention_outputs;

// Callbacks must be pure: they run on several threads, more than once for a pair, or not at all for
// a hidden pair. They return 0; any other number stops the call with QKV_CALLBACK_FAILED. They must
// not throw or jump out. `context` is the pointer given with them.
// A tile: some rows of queries against consecutive keys of one sequence.
typedef struct qkv_score_tile {
  uint32_t struct_size;
  uint32_t reserved;
  int64_t batch;             // the sequence
  int64_t rows;              // in this tile
  int64_t keys;              // in this tile, at most 64
  int64_t first_key;         // j of the first key, counted from the sequence's own first one
  const int64_t* heads;      // [rows] query head of each row
  const int64_t* positions;  // [rows] p of each row, its place among the keys
  float* scores;             // [rows, keys] by the strides, to be read and written
  int64_t row_stride;
  int64_t key_stride;
} qkv_score_tile;
typedef int32_t (*qkv_score_mod)(void* context, const qkv_score_tile* tile);

// The backward half of score_mod: see qkv_gradient.h.
typedef struct qkv_score_gradient_tile qkv_score_gradient_tile;
typedef int32_t (*qkv_score_mod_gradient)(void* context, const qkv_score_gradient_tile* tile);

typedef struct qkv_mask_tile {
  uint32_t struct_size;
  uint32_t reserved;
  int64_t batch;
  int64_t rows;
  int64_t keys;
  int64_t first_key;
  const int64_t* heads;
  const int64_t* positions;
  uint64_t* live;  // [rows]; bit r stands for key first_key + r: clear it to hide the key
} qkv_mask_tile;
typedef int32_t (*qkv_mask_mod)(void* context, const qkv_mask_tile* tile);

// What mask_mod does to a whole rectangle of pairs, so that blocks can be skipped unseen.
enum { QKV_HIDDEN = 0, QKV_MIXED = 1, QKV_VISIBLE = 2 };
typedef struct qkv_mask_block {
  uint32_t struct_size;
  uint32_t reserved;
  int64_t batch;
  int64_t head;
  int64_t first_position, last_position;  // both included
  int64_t first_key, last_key;            // both included
} qkv_mask_block;
typedef int32_t (*qkv_block_predicate)(void* context, const qkv_mask_block* block);

// Where queries sit among the keys: p(i) = i + Lk - Lq, so that the last query sees every key, or
// p(i) = i.
enum { QKV_BOTTOM_RIGHT = 0, QKV_TOP_LEFT = 1 };
// By the types of the inputs; or contract A also for all-bfloat16 inputs.
enum { QKV_ARITHMETIC_BY_TYPE = 0, QKV_ARITHMETIC_FLOAT32 = 1 };

// s = scale * dot(q_i, k_j), then softcap, score_mod, ALiBi and bias; out_i = sum of w_j v_j with w
// the softmax of the s that nothing hides. int32_t flags: 0 is no, anything else yes.
typedef struct qkv_attention_options {
  uint32_t struct_size;
  int32_t causal;  // keys j <= p
  double scale;    // if has_scale: finite; else 1 / sqrt(d_qk), 1 if d_qk is 0
  int32_t has_scale;
  int32_t has_softcap;
  float softcap;  // if has_softcap: s = softcap * tanh(s / softcap); finite and > 0
  int32_t has_window;
  int64_t window_left;  // if has_window: keys p - left <= j <= p + right; -1: unbounded
  int64_t window_right;
  int32_t alignment;
  int32_t arithmetic;
  // float, broadcast to [B, Hq, Lq, Lk] like NumPy, added. A -inf hides a key of a finite score; it
  // can't keep out a NaN or Inf of the key, since NaN - inf is NaN: a mask or lengths can.
  const qkv_tensor* bias;
  const qkv_tensor* mask;  // bool, broadcast like bias, true = may attend. A float mask is the bias
  qkv_score_mod score_mod;
  void* score_mod_context;
  qkv_mask_mod mask_mod;
  void* mask_mod_context;
  qkv_block_predicate block_predicate;  // for mask_mod
  void* block_predicate_context;
  const float* alibi_slopes;  // one a query head: s - slope * |p - j|. See qkv_alibi_slopes()
  int64_t alibi_slope_count;
  const float* sinks;  // one logit a query head, in the softmax's sum only; -inf: none
  int64_t sink_count;
  const int64_t* key_begin;  // [B] first live row of key and value; absent: 0
  int64_t key_begin_count;
  const int64_t* key_lengths;  // [B] live keys from there on; absent: all
  int64_t key_length_count;
  const int64_t* query_lengths;  // [B] live queries; rows beyond give 0 and LSE -inf
  int64_t query_length_count;
  const int64_t* query_cu_seqlens;  // [B + 1] packed: sequence b has the rows [b] to [b + 1] - 1
  int64_t query_cu_seqlen_count;
  const int64_t* key_cu_seqlens;
  int64_t key_cu_seqlen_count;
  const int64_t* query_offset;  // p(i) = i + offset: one for all or [B]; replaces `alignment`
  int64_t query_offset_count;
  double dropout;                  // probability that a weight is dropped, 0 to 1; 0: none
  uint64_t dropout_seed;           // which: the same for a seed, whatever the batch and the threads
  const int64_t* dropout_streams;  // one a sequence; absent: its number
  int64_t dropout_stream_count;
  qkv_score_mod_gradient score_mod_gradient;  // for gradients, which need it if score_mod is given
  void* score_mod_gradient_context;
} qkv_attention_options;

// The slopes of the ALiBi paper, into slopes[heads].
qkv_status qkv_alibi_slopes(int64_t heads, float* slopes);

// ---- How a call runs ----------------------------------------------------------------------------

// Stops calls from any thread, callback or signal handler: they fail with QKV_CANCELLED within some
// milliseconds, and later ones at once, until qkv_cancel_flag_reset(). NULL is ignored.
typedef struct qkv_cancel_flag qkv_cancel_flag;
qkv_status qkv_cancel_flag_create(qkv_cancel_flag** flag);
void qkv_cancel(qkv_cancel_flag* flag);
void qkv_cancel_flag_reset(qkv_cancel_flag* flag);
void qkv_cancel_flag_destroy(qkv_cancel_flag* flag);  // after the calls and plans that use it

// `share`: of the work that is done, 0 to 1. From one thread at a time. Not 0 stops the call.
typedef int32_t (*qkv_progress)(void* context, double share);

typedef struct qkv_execution {
  uint32_t struct_size;
  int32_t threads;  // at most; 0: all of the oneTBB arena the call is made in. Never changes a bit
  int32_t isa;
  int32_t check_block_predicate;  // QKV_INVALID_ARGUMENT if it and mask_mod disagree. Slow
  const qkv_cancel_flag* cancel;
  qkv_progress progress;
  void* progress_context;
} qkv_execution;

// ---- Attention ----------------------------------------------------------------------------------
// `options` and `execution` may be NULL: all defaults.

// The shape of `out` for these inputs: *rank of the extents are filled.
qkv_status qkv_output_shape(const qkv_attention_inputs* inputs,
                            const qkv_attention_options* options, int64_t extents[4],
                            int32_t* rank);

qkv_status qkv_attention(const qkv_attention_inputs* inputs, const qkv_attention_outputs* outputs,
                         const qkv_attention_options* options, const qkv_execution* execution);

// Attention planned once and run many times: the second run allocates nothing.
typedef struct qkv_plan qkv_plan;

// Copies what it is given, but for the tensors' memory, callback contexts and the cancel flag,
// which must live until the last run. On failure *plan is NULL.
qkv_status qkv_plan_create(const qkv_attention_inputs* inputs, const qkv_attention_outputs* outputs,
                           const qkv_attention_options* options, const qkv_execution* execution,
                           qkv_plan** plan);

typedef struct qkv_plan_description {  // filled by qkv_plan_describe()
  uint32_t struct_size;
  int32_t isa;
  int32_t threads;  // at most this many run
  uint32_t reserved;
  int64_t tasks;            // independent pieces of work
  int64_t rows_per_tile;    // query rows that share one pass over the keys
  int64_t workspace_bytes;  // beyond inputs and outputs
  int64_t weights_bytes;    // of the weights asked for
  const char* kernel;  // "avx512, tiles of 48 queries x 32 keys", ...; lives as long as the plan
} qkv_plan_description;
qkv_status qkv_plan_describe(const qkv_plan* plan, qkv_plan_description* description);

// On the memory given at creation. `workspace`: the described bytes at least; NULL and 0: its own.
qkv_status qkv_plan_run(qkv_plan* plan, void* workspace, int64_t workspace_bytes);
// On other memory of the same types, shapes and strides.
qkv_status qkv_plan_run_on(qkv_plan* plan, const qkv_attention_inputs* inputs,
                           const qkv_attention_outputs* outputs, void* workspace,
                           int64_t workspace_bytes);
void qkv_plan_destroy(qkv_plan* plan);  // NULL is ignored

// ---- Attention in pieces ------------------------------------------------------------------------

// The running softmax of every query row over a range of keys. Pieces may be computed anywhere and
// merged in any order of neighbours: the finished result has the bits of one call over all keys.
typedef struct qkv_state qkv_state;

// Over the keys of `inputs`, which are keys first_key, first_key + 1, ... of each sequence.
// first_key is a multiple of the contract's span; a piece that is not the last holds a multiple
// too. Options that use positions need query_offset. Sinks belong to qkv_state_finish(); packed
// sequences and query_lengths are refused. On failure *state is NULL.
qkv_status qkv_state_of(const qkv_attention_inputs* inputs, int64_t first_key,
                        const qkv_attention_options* options, const qkv_execution* execution,
                        qkv_state** state);
// Its keys: first_key to end_key - 1.
qkv_status qkv_state_keys(const qkv_state* state, int64_t* first_key, int64_t* end_key);
// Joins a state of the same rows over the keys right before or right after this one's.
qkv_status qkv_state_merge(qkv_state* state, const qkv_state* other);
// Writes `out` and `lse`, of which either may be absent.
qkv_status qkv_state_finish(const qkv_state* state, const qkv_attention_outputs* outputs,
                            const float* sinks, int64_t sink_count);
// For sending: the same bytes on every machine. *size is their number; they are written if
// `capacity` holds them, else QKV_INVALID_ARGUMENT. (NULL, 0, &size) asks for the number alone.
qkv_status qkv_state_serialize(const qkv_state* state, void* bytes, int64_t capacity,
                               int64_t* size);
qkv_status qkv_state_deserialize(const void* bytes, int64_t size, qkv_state** state);
qkv_status qkv_state_copy(const qkv_state* state, qkv_state** copy);
void qkv_state_destroy(qkv_state* state);  // NULL is ignored

// ---- Matrix products ----------------------------------------------------------------------------

// out [..., M, N] = a [..., M, K] times b [..., K, N], rank 2 to 4; leading dimensions broadcast
// like NumPy. float32, float16, bfloat16; out in float32 or a type of theirs.
qkv_status qkv_matmul(const qkv_tensor* a, const qkv_tensor* b, const qkv_tensor* out,
                      const qkv_execution* execution);

// ---- Random numbers -----------------------------------------------------------------------------

// NumPy's default_rng(seed), bit for bit; for the normal numbers see qkv/random.h.
typedef struct qkv_generator qkv_generator;
qkv_status qkv_generator_create(uint64_t seed, qkv_generator** generator);
// default_rng([e0, e1, ...]) of 32-bit words.
qkv_status qkv_generator_create_from_words(const uint32_t* words, int64_t count,
                                           qkv_generator** generator);
qkv_status qkv_generator_copy(const qkv_generator* generator, qkv_generator** copy);
// `count` numbers each: in [0, 1); normal, with deviation >= 0; in [low, high), low < high.
qkv_status qkv_generator_random(qkv_generator* generator, double* out, int64_t count);
qkv_status qkv_generator_normal(qkv_generator* generator, double* out, int64_t count, double mean,
                                double deviation);
qkv_status qkv_generator_integers(qkv_generator* generator, int64_t* out, int64_t count,
                                  int64_t low, int64_t high);
// The numbers 0 to count - 1, shuffled.
qkv_status qkv_generator_permutation(qkv_generator* generator, int64_t* out, int64_t count);
void qkv_generator_destroy(qkv_generator* generator);  // NULL is ignored

// ---- Initialisers -------------------------------------------------------------------------------
// Everything 0 but the size, which is the caller's: hence here and not in the library.
#define QKV_DEFINE_INIT(type)               \
  static inline void type##_init(type* s) { \
    memset(s, 0, sizeof(*s));               \
    s->struct_size = sizeof(*s);            \
  }
QKV_DEFINE_INIT(qkv_contract)
QKV_DEFINE_INIT(qkv_attention_inputs)
QKV_DEFINE_INIT(qkv_attention_outputs)
QKV_DEFINE_INIT(qkv_attention_options)
QKV_DEFINE_INIT(qkv_execution)
QKV_DEFINE_INIT(qkv_plan_description)
#undef QKV_DEFINE_INIT

// The score of a row and key of a tile; hides a key from a row.
static inline float* qkv_score_at(const qkv_score_tile* tile, int64_t row, int64_t key) {
  return tile->scores + row * tile->row_stride + key * tile->key_stride;
}
static inline void qkv_hide(const qkv_mask_tile* tile, int64_t row, int64_t key) {
  tile->live[row] &= ~(UINT64_C(1) << key);
}

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // QKV_H_
