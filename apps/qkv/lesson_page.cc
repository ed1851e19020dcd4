#include "lesson_page.h"

#ifdef QKV_LESSON_PAGE
// The assembler copies the file; as an array in C++ it would take minutes to compile.
asm(R"(
  .section .rodata
  .balign 16
qkv_lesson_page_begin:
  .incbin ")" QKV_LESSON_PAGE R"("
qkv_lesson_page_end:
  .text
)");
extern "C" {
extern const char qkv_lesson_page_begin[] __attribute__((visibility("hidden")));
extern const char qkv_lesson_page_end[] __attribute__((visibility("hidden")));
}
#endif

namespace qkv::app {

std::string_view lesson_page() {
#ifdef QKV_LESSON_PAGE
  return {qkv_lesson_page_begin, qkv_lesson_page_end};
#else
  return {};
#endif
}

}  // namespace qkv::app
