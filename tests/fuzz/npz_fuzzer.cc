#include "reader_fuzzer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  qkv::io::read_bytes(data, size, qkv::io::Format::kNpz);
  return 0;
}
