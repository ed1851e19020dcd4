// Every function of qkv.h, qkv_learn.h, qkv_positions.h and qkv_train.h, called from a C program:
// it returns 0 if all of them did what they say.
#include <math.h>
#include <qkv_learn.h>
#include <qkv_positions.h>
#include <qkv_train.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

#define CHECK(condition)                                                                        \
  do {                                                                                          \
    if (!(condition)) {                                                                         \
      ++failures;                                                                               \
      printf("%s:%d: %s (last error: %s)\n", __FILE__, __LINE__, #condition, qkv_last_error()); \
    }                                                                                           \
  } while (0)
#define CHECK_OK(call) CHECK((call) == QKV_OK)
#define CHECK_TEXT(text, expected) CHECK(strcmp((text), (expected)) == 0)

static int mentions(const char* text) { return strstr(qkv_last_error(), text) != NULL; }

// A problem: [heads, length, size] of numbers from the generator, in memory of its own.
enum { kHeads = 2, kQueries = 3, kKeys = 2100, kSize = 4 };
enum { kQueryCount = kHeads * kQueries * kSize, kKeyCount = kHeads * kKeys * kSize };
static float query_data[kQueryCount], key_data[kKeyCount], value_data[kKeyCount];
static qkv_tensor query, key, value;
static qkv_attention_inputs inputs;

static void fill(float* numbers, int64_t count, qkv_generator* generator) {
  for (int64_t i = 0; i < count; ++i) {
    double number = 0;
    CHECK_OK(qkv_generator_normal(generator, &number, 1, 0, 1));
    numbers[i] = (float)number;
  }
}

static void make_problem(void) {
  const int64_t query_shape[] = {kHeads, kQueries, kSize}, key_shape[] = {kHeads, kKeys, kSize};
  qkv_generator* generator = NULL;
  CHECK_OK(qkv_generator_create(7, &generator));
  fill(query_data, kQueryCount, generator);
  fill(key_data, kKeyCount, generator);
  fill(value_data, kKeyCount, generator);
  qkv_generator_destroy(generator);
  qkv_tensor_init(&query, query_data, QKV_FLOAT32, 3, query_shape);
  qkv_tensor_init(&key, key_data, QKV_FLOAT32, 3, key_shape);
  qkv_tensor_init(&value, value_data, QKV_FLOAT32, 3, key_shape);
  qkv_attention_inputs_init(&inputs);
  inputs.query = &query;
  inputs.key = &key;
  inputs.value = &value;
}

// The results of one call, and the structs that describe them.
typedef struct results {
  float out[kQueryCount], lse[kHeads * kQueries];
  qkv_tensor out_tensor, lse_tensor;
  qkv_attention_outputs outputs;
} results;

static void prepare(results* r) {
  const int64_t lse_shape[] = {kHeads, kQueries};
  memset(r, 0x5a, sizeof(*r));
  qkv_tensor_init(&r->out_tensor, r->out, QKV_FLOAT32, 3, query.extents);
  qkv_tensor_init(&r->lse_tensor, r->lse, QKV_FLOAT32, 2, lse_shape);
  qkv_attention_outputs_init(&r->outputs);
  r->outputs.out = &r->out_tensor;
  r->outputs.lse = &r->lse_tensor;
}

static int same(const results* a, const results* b) {
  return memcmp(a->out, b->out, sizeof(a->out)) == 0 && memcmp(a->lse, b->lse, sizeof(a->lse)) == 0;
}

static void library_and_machine(void) {
  CHECK_TEXT(qkv_version(), "1.0.0");
  CHECK(strlen(qkv_cpu_name()) > 0);
  qkv_contract contract;
  qkv_contract_init(&contract);
  CHECK_OK(qkv_get_contract(&contract));
  CHECK_TEXT(contract.name, "A");
  CHECK(contract.version == 1 && contract.block == 32 && contract.span == 1024 &&
        contract.group == 32);

  int32_t isas[8], isa = -1;
  int64_t built = 0, usable = 0;
  CHECK_OK(qkv_built_isas(NULL, 0, &built));
  CHECK_OK(qkv_usable_isas(isas, 8, &usable));
  CHECK(built >= usable && usable >= 1 && isas[0] == QKV_ISA_PORTABLE);
  CHECK_TEXT(qkv_isa_name(QKV_ISA_AVX512), "avx512");
  CHECK(qkv_isa_name(5) == NULL && qkv_isa_name(-1) == NULL);
  CHECK_OK(qkv_isa_from_name("neon", &isa));
  CHECK(isa == QKV_ISA_NEON);
  CHECK(qkv_isa_from_name("sse", &isa) == QKV_INVALID_ARGUMENT && mentions("'sse'"));

  int32_t dtype = -1;
  CHECK_TEXT(qkv_dtype_name(QKV_BFLOAT16), "bfloat16");
  CHECK(qkv_dtype_name(13) == NULL && qkv_dtype_size(13) == 0 && !qkv_dtype_is_floating(-1));
  CHECK(qkv_dtype_size(QKV_FLOAT64) == 8 && qkv_dtype_size(QKV_BOOL) == 1);
  CHECK(qkv_dtype_is_floating(QKV_FLOAT16) && !qkv_dtype_is_floating(QKV_BOOL));
  CHECK_OK(qkv_dtype_from_name("f16", &dtype));
  CHECK(dtype == QKV_FLOAT16);
  CHECK_TEXT(qkv_status_name(QKV_CANCELLED), "cancelled");
}

// The example at the top of qkv.h, with other names for its tensors.
static void header_example(void) {
  float q[] = {1, 2}, k[] = {1, 0, 0, 1, 1, 1}, v[] = {10, 0, 0, 10, 5, 5}, out[2];
  qkv_tensor q1, k1, v1, result;
  qkv_tensor_init(&q1, q, QKV_FLOAT32, 2, (int64_t[]){1, 2});
  qkv_tensor_init(&k1, k, QKV_FLOAT32, 2, (int64_t[]){3, 2});
  qkv_tensor_init(&v1, v, QKV_FLOAT32, 2, (int64_t[]){3, 2});
  qkv_tensor_init(&result, out, QKV_FLOAT32, 2, (int64_t[]){1, 2});
  qkv_attention_inputs in = {sizeof in, 0, &q1, &k1, &v1};
  qkv_attention_outputs outputs = {.struct_size = sizeof outputs, .out = &result};
  if (qkv_attention(&in, &outputs, NULL, NULL) != QKV_OK) puts(qkv_last_error());
  char text[40];
  snprintf(text, sizeof(text), "%.2f, %.2f", out[0], out[1]);
  CHECK_TEXT(text, "4.28, 5.72");
}

// q = [1, 2], keys [1, 0], [0, 1], [1, 1], values [10, 0], [0, 10], [5, 5].
static void lesson(void) {
  const float q[] = {1, 2}, k[] = {1, 0, 0, 1, 1, 1}, v[] = {10, 0, 0, 10, 5, 5};
  const int64_t one[] = {1, 2}, three[] = {3, 2}, row[] = {1, 3};
  float out[2], weights[3];
  qkv_tensor in_q, in_k, in_v, out_tensor, weights_tensor;
  qkv_tensor_init(&in_q, q, QKV_FLOAT32, 2, one);
  qkv_tensor_init(&in_k, k, QKV_FLOAT32, 2, three);
  qkv_tensor_init(&in_v, v, QKV_FLOAT32, 2, three);
  qkv_tensor_init(&out_tensor, out, QKV_FLOAT32, 2, one);
  qkv_tensor_init(&weights_tensor, weights, QKV_FLOAT32, 2, row);
  const qkv_attention_inputs in = {sizeof(in), 0, &in_q, &in_k, &in_v};
  const qkv_attention_outputs outputs = {
      .struct_size = sizeof(outputs), .out = &out_tensor, .weights = &weights_tensor};
  CHECK_OK(qkv_attention(&in, &outputs, NULL, NULL));
  char text[80];
  snprintf(text, sizeof(text), "[[%.3f %.3f %.3f]] [%.2f, %.2f]", weights[0], weights[1],
           weights[2], out[0], out[1]);
  CHECK_TEXT(text, "[[0.140 0.284 0.576]] [4.28, 5.72]");

  int64_t extents[4];
  int32_t rank = 0;
  CHECK_OK(qkv_output_shape(&in, NULL, extents, &rank));
  CHECK(rank == 2 && extents[0] == 1 && extents[1] == 2);

  qkv_steps* steps = NULL;
  qkv_steps_description description;
  qkv_steps_description_init(&description);
  CHECK_OK(qkv_steps_of(&in, NULL, 0, 0, 0, &steps));
  CHECK_OK(qkv_steps_describe(steps, &description));
  CHECK(description.key_count == 3 && description.block_count == 1 && description.merge_count == 0);
  CHECK(description.key_dot[2] == 3 && description.block_rescale[0] == 1);
  CHECK(memcmp(description.key_weight, weights, sizeof(weights)) == 0);
  CHECK(memcmp(description.out, out, sizeof(out)) == 0);
  qkv_steps_destroy(steps);
  CHECK(qkv_steps_of(&in, NULL, 0, 0, 1, &steps) == QKV_INVALID_ARGUMENT && mentions("row: 1"));
  qkv_steps_destroy(steps);
}

static void plans(void) {
  results one, other;
  prepare(&one);
  prepare(&other);
  qkv_attention_options options;
  qkv_attention_options_init(&options);
  options.causal = 1;
  qkv_execution execution;
  qkv_execution_init(&execution);
  execution.threads = 2;
  CHECK_OK(qkv_attention(&inputs, &one.outputs, &options, &execution));

  qkv_plan* plan = NULL;
  CHECK_OK(qkv_plan_create(&inputs, &other.outputs, &options, &execution, &plan));
  qkv_plan_description description;
  qkv_plan_description_init(&description);
  CHECK_OK(qkv_plan_describe(plan, &description));
  CHECK(strlen(description.kernel) > 0 && description.isa >= QKV_ISA_PORTABLE);
  CHECK(description.threads >= 1 && description.tasks >= 1 && description.rows_per_tile >= 1);
  CHECK(description.weights_bytes == 0 && description.workspace_bytes > 0);

  CHECK_OK(qkv_plan_run(plan, NULL, 0));
  CHECK(same(&one, &other));
  void* workspace = malloc((size_t)description.workspace_bytes);
  prepare(&other);
  CHECK_OK(qkv_plan_run(plan, workspace, description.workspace_bytes));
  CHECK(same(&one, &other));
  CHECK(qkv_plan_run(plan, workspace, 1) == QKV_INVALID_ARGUMENT && mentions("workspace"));

  results elsewhere;
  prepare(&elsewhere);
  CHECK_OK(
      qkv_plan_run_on(plan, &inputs, &elsewhere.outputs, workspace, description.workspace_bytes));
  CHECK(same(&one, &elsewhere));
  prepare(&elsewhere);
  CHECK_OK(qkv_plan_run_on(plan, &inputs, &elsewhere.outputs, NULL, 0));
  CHECK(same(&one, &elsewhere));
  free(workspace);
  qkv_plan_destroy(plan);
  qkv_plan_destroy(NULL);
}

static qkv_state* piece(int64_t first, int64_t end) {
  qkv_tensor some_keys = key, some_values = value;
  some_keys.data = key_data + first * kSize;
  some_values.data = value_data + first * kSize;
  some_keys.extents[1] = some_values.extents[1] = end - first;
  const qkv_attention_inputs in = {sizeof(in), 0, &query, &some_keys, &some_values};
  qkv_state* state = NULL;
  CHECK_OK(qkv_state_of(&in, first, NULL, NULL, &state));
  return state;
}

static void states(void) {
  const float sinks[kHeads] = {1.5F, -INFINITY};
  results one, merged;
  prepare(&one);
  prepare(&merged);
  qkv_attention_options options;
  qkv_attention_options_init(&options);
  options.sinks = sinks;
  options.sink_count = kHeads;
  CHECK_OK(qkv_attention(&inputs, &one.outputs, &options, NULL));

  qkv_state *left = piece(0, 1024), *middle = piece(1024, 2048), *right = piece(2048, kKeys);
  int64_t first = -1, end = -1, size = 0, again = 0;
  CHECK_OK(qkv_state_keys(right, &first, &end));
  CHECK(first == 2048 && end == kKeys);
  CHECK(qkv_state_merge(left, right) == QKV_INVALID_ARGUMENT && mentions("neighbours"));

  // One piece goes over the wire.
  CHECK_OK(qkv_state_serialize(middle, NULL, 0, &size));
  void* bytes = malloc((size_t)size);
  CHECK(qkv_state_serialize(middle, bytes, size - 1, &again) == QKV_INVALID_ARGUMENT);
  CHECK(again == size);
  CHECK_OK(qkv_state_serialize(middle, bytes, size, &again));
  qkv_state *received = NULL, *copy = NULL;
  CHECK_OK(qkv_state_deserialize(bytes, size, &received));
  free(bytes);

  CHECK_OK(qkv_state_copy(right, &copy));
  CHECK_OK(qkv_state_merge(copy, received));
  CHECK_OK(qkv_state_merge(copy, left));
  CHECK_OK(qkv_state_finish(copy, &merged.outputs, sinks, kHeads));
  CHECK(same(&one, &merged));
  qkv_state_destroy(left);
  qkv_state_destroy(middle);
  qkv_state_destroy(right);
  qkv_state_destroy(received);
  qkv_state_destroy(copy);
  qkv_state_destroy(NULL);
}

static void products_and_slopes(void) {
  const float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
  const int64_t shape[] = {2, 2};
  float out[4], slopes[8];
  qkv_tensor left, right, product;
  qkv_tensor_init(&left, a, QKV_FLOAT32, 2, shape);
  qkv_tensor_init(&right, b, QKV_FLOAT32, 2, shape);
  qkv_tensor_init(&product, out, QKV_FLOAT32, 2, shape);
  CHECK_OK(qkv_matmul(&left, &right, &product, NULL));
  CHECK(out[0] == 19 && out[1] == 22 && out[2] == 43 && out[3] == 50);
  CHECK_OK(qkv_alibi_slopes(8, slopes));
  CHECK(slopes[0] == 0.5F && slopes[7] == 0.00390625F);
}

static void positions_and_saturation(void) {
  const double x[] = {0, 1}, frequencies[] = {1};
  const int64_t shape[] = {2, 2}, two_by_four[] = {2, 4};
  double two[2], norm = 0;
  float features[4], positions[8];
  qkv_tensor out;
  CHECK_OK(qkv_sinusoidal_frequencies(4, 10000, two, 2));
  CHECK(two[0] == 1 && two[1] == 0.01);
  CHECK(qkv_sinusoidal_frequencies(4, 10000, two, 1) == QKV_INVALID_ARGUMENT && mentions("pass 2"));
  qkv_tensor_init(&out, features, QKV_FLOAT32, 2, shape);
  CHECK_OK(qkv_fourier_features(x, 2, frequencies, 1, &out));
  CHECK(features[0] == 0 && features[1] == 1);
  CHECK(features[2] == 0.841470985F && features[3] == 0.540302306F);  // sin 1, cos 1
  CHECK(qkv_fourier_features(NULL, 2, frequencies, 1, &out) == QKV_INVALID_ARGUMENT);
  CHECK(qkv_fourier_features(x, 1, frequencies, 1, &out) == QKV_INVALID_ARGUMENT);
  qkv_tensor_init(&out, positions, QKV_FLOAT32, 2, two_by_four);
  CHECK_OK(qkv_sinusoidal_positions(0, 10000, &out));
  CHECK(positions[4] == features[2] && positions[7] == 0.99995F);
  CHECK(qkv_sinusoidal_positions(0, 0, &out) == QKV_INVALID_ARGUMENT && mentions("base"));
  CHECK(qkv_sinusoidal_positions(0, 10000, NULL) == QKV_INVALID_ARGUMENT && mentions("out"));

  const float weights[] = {0.75F, 0.25F, -1};
  CHECK_OK(qkv_softmax_jacobian_norm(weights, 2, 0, &norm));
  CHECK(norm == 0.375);
  CHECK_OK(qkv_softmax_jacobian_norm(weights, 1, 0.25, &norm));
  CHECK(norm == 0.1875);
  CHECK(qkv_softmax_jacobian_norm(weights, 3, 0, &norm) == QKV_INVALID_ARGUMENT && mentions("-1"));
  CHECK(qkv_softmax_jacobian_norm(weights, 2, 0, NULL) == QKV_INVALID_ARGUMENT);
  CHECK(norm == 0.1875);
}

static void rotary_positions(void) {
  const int64_t ids[] = {1}, one[] = {1}, table_shape[] = {1, 2}, shape[] = {1, 1, 4};
  double frequencies[2], magnitude = 0;
  float cosines[2], sines[2], x[] = {1, 2, 3, 4};
  qkv_tensor positions, cosine_table, sine_table, heads;
  qkv_rotary_options options;
  qkv_rotary_options_init(&options);
  CHECK_OK(qkv_rotary_frequencies(4, &options, frequencies, 2, &magnitude));
  CHECK(frequencies[1] == 0.01 && magnitude == 1);
  qkv_tensor_init(&positions, ids, QKV_INT64, 1, one);
  qkv_tensor_init(&cosine_table, cosines, QKV_FLOAT32, 2, table_shape);
  qkv_tensor_init(&sine_table, sines, QKV_FLOAT32, 2, table_shape);
  qkv_tensor_init(&heads, x, QKV_FLOAT32, 3, shape);
  CHECK_OK(qkv_rotary_tables(&positions, frequencies, 2, magnitude, &cosine_table, &sine_table));
  CHECK_OK(qkv_rotate(&heads, &cosine_table, &sine_table, QKV_ROTARY_HALVES, &heads, NULL));
  CHECK(fabsf(x[0] + 1.9841106F) < 1e-6F && fabsf(x[3] - 4.0197997F) < 1e-6F);
  CHECK_OK(
      qkv_rotate_gradient(&heads, &cosine_table, &sine_table, QKV_ROTARY_HALVES, &heads, NULL));
  CHECK(fabsf(x[0] - 1) < 1e-6F && fabsf(x[3] - 4) < 1e-6F);
  int64_t bucket = 0;
  CHECK_OK(qkv_relative_position_bucket(8, 1, 32, 128, &bucket));
  CHECK(bucket == 24);
}

static void random_numbers(void) {
  qkv_generator *generator = NULL, *words = NULL, *copy = NULL;
  const uint32_t seed = 0;
  double uniform[3], one = 0, normal = 0;
  int64_t integer = 0, shuffled[5], seen = 0;
  CHECK_OK(qkv_generator_create(0, &generator));
  CHECK_OK(qkv_generator_create_from_words(&seed, 1, &words));
  CHECK_OK(qkv_generator_random(generator, uniform, 3));
  CHECK(uniform[0] == 0.6369616873214543 && uniform[1] == 0.2697867137638703 &&
        uniform[2] == 0.04097352393619469);  // np.random.default_rng(0).random(3)
  CHECK_OK(qkv_generator_random(words, &one, 1));
  CHECK(one == uniform[0]);
  CHECK_OK(qkv_generator_copy(words, &copy));
  CHECK_OK(qkv_generator_random(copy, &one, 1));
  CHECK(one == uniform[1]);
  CHECK_OK(qkv_generator_normal(copy, &normal, 1, 5, 0));
  CHECK(normal == 5);
  CHECK_OK(qkv_generator_integers(copy, &integer, 1, -3, -2));
  CHECK(integer == -3);
  CHECK_OK(qkv_generator_permutation(copy, shuffled, 5));
  for (int i = 0; i < 5; ++i) seen |= INT64_C(1) << shuffled[i];
  CHECK(seen == 31);
  qkv_generator_destroy(generator);
  qkv_generator_destroy(words);
  qkv_generator_destroy(copy);
  qkv_generator_destroy(NULL);
}

// Adds what `context` points to.
static int32_t add(void* context, const qkv_score_tile* tile) {
  for (int64_t row = 0; row < tile->rows; ++row) {
    for (int64_t r = 0; r < tile->keys; ++r) *qkv_score_at(tile, row, r) += *(float*)context;
  }
  return 0;
}

static int32_t hide_the_future(void* context, const qkv_mask_tile* tile) {
  (void)context;
  for (int64_t row = 0; row < tile->rows; ++row) {
    for (int64_t r = 0; r < tile->keys; ++r) {
      if (tile->first_key + r > tile->positions[row]) qkv_hide(tile, row, r);
    }
  }
  return 0;
}

static int32_t future_block(void* context, const qkv_mask_block* block) {
  (void)context;
  if (block->first_key > block->last_position) return QKV_HIDDEN;
  return block->last_key <= block->first_position ? QKV_VISIBLE : QKV_MIXED;
}

static int32_t note_share(void* context, double share) {
  *(double*)context = share;
  return 0;
}

static int32_t stop(void* context, double share) {
  (void)share;
  return *(int32_t*)context;
}

static int32_t cancel(void* context, const qkv_score_tile* tile) {
  (void)tile;
  qkv_cancel(context);
  return 0;
}

static void callbacks(void) {
  results plain, hooked;
  float nothing = 0;
  double share = 0;
  int32_t code = 42;
  prepare(&plain);
  prepare(&hooked);
  qkv_attention_options options;
  qkv_attention_options_init(&options);
  options.causal = 1;
  CHECK_OK(qkv_attention(&inputs, &plain.outputs, &options, NULL));
  options.causal = 0;
  options.score_mod = add;
  options.score_mod_context = &nothing;
  options.mask_mod = hide_the_future;
  options.block_predicate = future_block;
  qkv_execution execution;
  qkv_execution_init(&execution);
  execution.progress = note_share;
  execution.progress_context = &share;
  execution.check_block_predicate = 1;
  CHECK_OK(qkv_attention(&inputs, &hooked.outputs, &options, &execution));
  CHECK(same(&plain, &hooked) && share == 1);

  execution.progress = stop;
  execution.progress_context = &code;
  CHECK(qkv_attention(&inputs, &hooked.outputs, &options, &execution) == QKV_CALLBACK_FAILED);
  CHECK(mentions("progress") && mentions("42"));

  qkv_execution_init(&execution);
  qkv_cancel_flag* flag = NULL;
  CHECK_OK(qkv_cancel_flag_create(&flag));
  execution.cancel = flag;
  options.score_mod = cancel;
  options.score_mod_context = flag;
  CHECK(qkv_attention(&inputs, &hooked.outputs, &options, &execution) == QKV_CANCELLED);
  options.score_mod = NULL;
  CHECK(qkv_attention(&inputs, &hooked.outputs, &options, &execution) == QKV_CANCELLED);
  qkv_cancel_flag_reset(flag);
  CHECK_OK(qkv_attention(&inputs, &hooked.outputs, &options, &execution));
  CHECK(same(&plain, &hooked));
  qkv_cancel_flag_destroy(flag);
  qkv_cancel_flag_destroy(NULL);
  qkv_cancel(NULL);
  qkv_cancel_flag_reset(NULL);
}

// The model of points learns: in sixty steps the loss falls.
static void training(void) {
  static float tokens[QKV_SCENE_POINTS * QKV_SCENE_TOKEN];
  static float weights[QKV_SCENE_POINTS * QKV_POINT_HEADS * QKV_SCENE_POINTS];
  int64_t labels[QKV_SCENE_POINTS], near[QKV_SCENE_POINTS], steps = -1, count = 0;
  CHECK_OK(qkv_point_scenes_fill(1, QKV_SCENES_SCATTERED, 1, tokens, NULL, near, NULL));
  CHECK(near[near[5]] == 5);
  qkv_point_training* model = NULL;
  CHECK_OK(qkv_point_training_create(1, 100, NULL, &model));
  CHECK_OK(qkv_point_training_step(model, 1));
  float first = 0, last = 0;
  CHECK_OK(qkv_point_training_loss(model, &first));
  CHECK_OK(qkv_point_training_step(model, 59));
  CHECK_OK(qkv_point_training_loss(model, &last));
  CHECK_OK(qkv_point_training_steps(model, &steps));
  CHECK(steps == 60 && last < first && last > 0);
  CHECK_OK(qkv_point_training_look(model, tokens, 1, weights, labels));
  CHECK(labels[0] >= 0 && labels[0] < QKV_SCENE_LABELS && weights[0] > 0);
  qkv_point_evaluation evaluation;
  qkv_point_evaluation_init(&evaluation);
  CHECK_OK(qkv_point_training_evaluate(model, 2, QKV_SCENES_RING, 8, 1, &evaluation));
  CHECK(evaluation.accuracy > 0.1 && evaluation.accuracy < 0.9 && evaluation.near[1] > 0);
  CHECK_OK(qkv_point_training_read(model, NULL, 0, &count));
  CHECK(count > 9000);
  qkv_point_training_destroy(model);
}

int main(void) {
  CHECK_TEXT(qkv_last_error(), "");
  library_and_machine();
  header_example();
  lesson();
  make_problem();
  plans();
  states();
  products_and_slopes();
  positions_and_saturation();
  rotary_positions();
  training();
  random_numbers();
  callbacks();
  printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
