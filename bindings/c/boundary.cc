#include "boundary.h"

#include <new>
#include <stdexcept>
#include <utility>

#include "qkv/error.h"

namespace qkv::c {
namespace {

template <class Result, class... Arguments>
void add_throw(std::function<Result(Arguments...)>& callback, const CallbackRecord& record) {
  if (!callback) return;
  callback = [inner = std::move(callback), &record](Arguments... arguments) -> Result {
    if constexpr (std::is_void_v<Result>) {
      inner(arguments...);
      if (record.failed()) throw_if_error(record.status());
    } else {
      Result result = inner(arguments...);
      if (record.failed()) throw_if_error(record.status());
      return result;
    }
  };
}

}  // namespace

qkv_status report_exception() noexcept {
  try {
    throw;
  } catch (const InvalidArgument& error) {
    return report(QKV_INVALID_ARGUMENT, error.what());
  } catch (const Unsupported& error) {
    return report(QKV_UNSUPPORTED, error.what());
  } catch (const OutOfMemory& error) {
    return report(QKV_OUT_OF_MEMORY, error.what());
  } catch (const Cancelled& error) {
    return report(QKV_CANCELLED, error.what());
  } catch (const std::bad_alloc&) {
    return report(QKV_OUT_OF_MEMORY, "no memory for this call");
  } catch (const std::length_error&) {
    return report(QKV_OUT_OF_MEMORY, "no memory for an array of this size");
  } catch (const std::exception& error) {
    // The library itself throws nothing else.
    return report(QKV_CALLBACK_FAILED, error.what());
  } catch (...) {
    return report(QKV_CALLBACK_FAILED, "a callback threw; the outputs are unspecified");
  }
}

void throw_on_failure(AttentionOptions& options, const CallbackRecord& record) {
  add_throw(options.score_mod, record);
  add_throw(options.mask_mod, record);
  add_throw(options.block_predicate, record);
}

void throw_on_failure(ExecutionOptions& execution, const CallbackRecord& record) {
  add_throw(execution.progress, record);
}

}  // namespace qkv::c
