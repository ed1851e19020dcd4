// The kernels of this build. Only src/plan looks here.
#ifndef QKV_KERNELS_REGISTRY_H_
#define QKV_KERNELS_REGISTRY_H_

#include <span>

#include "kernels/attention/kernel.h"
#include "kernels/gradient/kernel.h"
#include "kernels/layers/kernel.h"
#include "kernels/matmul/kernel.h"
#include "kernels/tangent/kernel.h"

namespace qkv {

// All that one instruction set has.
struct KernelSet {
  Isa isa;
  bool (*usable)();  // can this machine run it?
  AttentionKernel attention;
  GradientKernel gradient;
  LayerKernel layers;
  MatmulKernel matmul;
};

// The slowest first.
std::span<const KernelSet> kernel_sets();

// The tangents' kernel of the same instruction set. Apart, in tangent_registry.cc, so that a
// program without tangents (the page's engine) has none of it.
TangentKernel tangent_kernel(const KernelSet& kernels);

}  // namespace qkv

#endif  // QKV_KERNELS_REGISTRY_H_
