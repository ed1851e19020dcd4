// Memory for the gradients that every training needs.
#ifndef QKV_API_GRADIENT_H_
#define QKV_API_GRADIENT_H_

#include "qkv/gradient.h"

namespace qkv {

// Zeros in the shapes and types of query, key and value. Throws what allocate() says.
AttentionGradients zero_gradients(const GradientInputs& inputs);

}  // namespace qkv

#endif  // QKV_API_GRADIENT_H_
