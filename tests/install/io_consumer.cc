// Writes an array to argv[1] and reads it back, by an installed qkv::io.
#include <qkv/io.h>

#include <cstdio>

int main(int, char** argv) {
  const float three[] = {1, 2, 3};
  qkv::Status status = qkv::io::write(argv[1], {{"three", {three, {3}}}}, {.overwrite = true});
  qkv::io::Reader reader;
  if (status.ok()) status = qkv::io::Reader::open(argv[1], reader);
  qkv::Tensor tensor;
  if (status.ok()) status = reader.read("three", tensor);
  if (!status.ok()) std::printf("%s\n", std::string(status.message()).c_str());
  return status.ok() && tensor.data<const float>()[2] == 3 ? 0 : 1;
}
