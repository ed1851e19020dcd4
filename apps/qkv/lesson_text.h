// The lesson's worked numbers as text, computed by the engine.
#ifndef QKV_APPS_QKV_LESSON_TEXT_H_
#define QKV_APPS_QKV_LESSON_TEXT_H_

#include <string>

namespace qkv::app {

// Prints one section to stdout; "list": their names, "all": all of them. Throws a Failure for
// another name.
void print_lesson(const std::string& section);

}  // namespace qkv::app

#endif  // QKV_APPS_QKV_LESSON_TEXT_H_
