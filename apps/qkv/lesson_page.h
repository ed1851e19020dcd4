// The lesson page that was built into the command.
#ifndef QKV_APPS_QKV_LESSON_PAGE_H_
#define QKV_APPS_QKV_LESSON_PAGE_H_

#include <string_view>

namespace qkv::app {

// The whole file, build/web/lesson.html; "" if there was none when the command was built.
std::string_view lesson_page();

}  // namespace qkv::app

#endif  // QKV_APPS_QKV_LESSON_PAGE_H_
