// What a model has learned, in .safetensors files: its parameters alone, or all that an exact
// resume needs. Part of the library qkv_io.
//
//   qkv::nn::save_parameters("model.safetensors", parameters);
//   qkv::nn::load_parameters("model.safetensors", parameters);
//
// Files are written whole beside the target and renamed (qkv/io.h), so a run that is killed while
// it saves keeps the checkpoint before. Nothing here throws.
#ifndef QKV_CHECKPOINT_H_
#define QKV_CHECKPOINT_H_

#include <map>
#include <string>

#include "qkv/io.h"
#include "qkv/nn.h"

namespace qkv::nn {

// Every parameter under its name, float32. `options.overwrite` replaces a file that is there.
Status save_parameters(const std::string& path, const Parameters& parameters,
                       const io::WriteOptions& options = {});

// Fills every parameter from the file. kInvalidArgument, naming the tensor and both shapes, if one
// is missing, has another shape or type than float32, or if the file has a tensor that no parameter
// is named for; kFileError if the file can't be read. Nothing changes then.
Status load_parameters(const std::string& path, Parameters& parameters);

// What a training keeps besides its parameters and its optimiser.
struct TrainingState {
  // The caller's words, for instance which training it is: at most what fits a file's header.
  std::map<std::string, std::string> metadata;
  std::map<std::string, Tensor> tensors;  // such as the losses so far
};

// Parameters, the optimiser's tensors and steps, and `state`, in one file that replaces the one
// before. A training that computes each step from its number alone (batches, learning rate,
// dropout) goes on from it with the bits of an unbroken run.
Status save_checkpoint(const std::string& path, const Parameters& parameters,
                       const Optimizer& optimizer, const TrainingState& state = {});

// Brings all of it back. Fails like load_parameters(), changing nothing.
Status load_checkpoint(const std::string& path, Parameters& parameters, Optimizer& optimizer,
                       TrainingState& state);

}  // namespace qkv::nn

#endif  // QKV_CHECKPOINT_H_
