// qkv in C, for watching a model learn: the model of point clouds and its training.
//
// The rules of qkv.h hold here too. The C++ header qkv/point_model.h says what the model and its
// scenes are; everything here has its bits.
#ifndef QKV_TRAIN_H_
#define QKV_TRAIN_H_

#include "qkv.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Scenes -------------------------------------------------------------------------------------

// Points of a scene; numbers of a point's token, which begin with x and y; labels; heads.
enum { QKV_SCENE_POINTS = 24, QKV_SCENE_TOKEN = 27, QKV_SCENE_LABELS = 4, QKV_POINT_HEADS = 2 };

// Where near points lie. Models learn from scattered ones; the others they never see.
enum { QKV_SCENES_SCATTERED = 0, QKV_SCENES_RING = 1, QKV_SCENES_CLUSTERS = 2 };

// `count` scenes that the generator of `seed` draws; no training learns from them. tokens [count,
// 24, 27]; of each point labels, near and alike [count, 24]: its label, and which point of its
// scene is near, which is alike. Each array may be NULL.
qkv_status qkv_point_scenes_fill(uint64_t seed, int32_t layout, int64_t count, float* tokens,
                                 int64_t* labels, int64_t* near, int64_t* alike);

// ---- Training -----------------------------------------------------------------------------------

typedef struct qkv_point_training qkv_point_training;

// A model as the seed draws it. `steps`, at least 1: of the learning rate's schedule, which ends
// there. Of `execution`, which may be NULL, threads and isa count. On failure *training is NULL.
qkv_status qkv_point_training_create(uint64_t seed, int64_t steps, const qkv_execution* execution,
                                     qkv_point_training** training);
// `count` steps of 32 scenes each: forward, backward, AdamW. After a failure the training is as the
// last step that was done left it.
qkv_status qkv_point_training_step(qkv_point_training* training, int64_t count);
qkv_status qkv_point_training_steps(const qkv_point_training* training, int64_t* steps);  // done
// Of the last step's scenes, before that step; 0 before the first.
qkv_status qkv_point_training_loss(const qkv_point_training* training, float* loss);

// What the model makes of scenes, tokens [count, 24, 27]: how much point i weights point j in each
// head, weights [count, 24 (i), 2, 24 (j)], and labels [count, 24]. Either may be NULL.
qkv_status qkv_point_training_look(qkv_point_training* training, const float* tokens, int64_t count,
                                   float* weights, int64_t* labels);

// Filled by qkv_point_training_evaluate().
typedef struct qkv_point_evaluation {
  uint32_t struct_size;
  uint32_t reserved;
  double accuracy;  // share of the labels that are right
  // Of each head: the mean weight that a point gives to its near point, and to the one alike.
  double near[QKV_POINT_HEADS];
  double alike[QKV_POINT_HEADS];
  double accuracy_without[QKV_POINT_HEADS];  // with its part of W_O put to 0; 0 if not asked for
} qkv_point_evaluation;

// On the scenes of qkv_point_scenes_fill(). `without_heads`: 0 or 1.
qkv_status qkv_point_training_evaluate(qkv_point_training* training, uint64_t seed, int32_t layout,
                                       int64_t count, int32_t without_heads,
                                       qkv_point_evaluation* evaluation);

// All parameters one after the other, in their order: *count numbers. NULL and a capacity of 0 only
// count them.
qkv_status qkv_point_training_read(const qkv_point_training* training, float* parameters,
                                   int64_t capacity, int64_t* count);
void qkv_point_training_destroy(qkv_point_training* training);  // NULL is ignored

// ---- Initialisers -------------------------------------------------------------------------------

static inline void qkv_point_evaluation_init(qkv_point_evaluation* evaluation) {
  memset(evaluation, 0, sizeof(*evaluation));
  evaluation->struct_size = sizeof(*evaluation);
}

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // QKV_TRAIN_H_
