// Serves one page to this machine's browsers, and to nobody else.
#ifndef QKV_APPS_QKV_LESSON_SERVER_H_
#define QKV_APPS_QKV_LESSON_SERVER_H_

#include <atomic>
#include <functional>
#include <string>
#include <string_view>

namespace qkv::app {

// Listens on 127.0.0.1 until *stop is true. `port` 0 takes any free one. Calls `ready` with the
// address once the page can be fetched. False if the port can't be had.
bool serve_page(std::string_view page, int port, const std::atomic<bool>* stop,
                const std::function<void(const std::string& address)>& ready);

// Asks the desktop to show `address`; false if there is no desktop or it can't.
bool open_browser(const std::string& address);

}  // namespace qkv::app

#endif  // QKV_APPS_QKV_LESSON_SERVER_H_
