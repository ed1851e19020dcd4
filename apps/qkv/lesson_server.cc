#include "lesson_server.h"

#include <fcntl.h>
#include <httplib.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

namespace qkv::app {
namespace {

constexpr const char* kHost = "127.0.0.1";

// A page of another site, whose name was made to point at 127.0.0.1, sends its own name here.
bool is_local(const std::string& host, int port) {
  for (const std::string& name : {std::string(kHost), std::string("localhost")}) {
    if (host == name || host == name + ":" + std::to_string(port)) return true;
  }
  return false;
}

}  // namespace

bool serve_page(std::string_view page, int port, const std::atomic<bool>* stop,
                const std::function<void(const std::string& address)>& ready) {
  httplib::Server server;
  // The library's own choice, SO_REUSEPORT, would let two servers share one port.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  });
  if (port == 0) {
    port = server.bind_to_any_port(kHost);
    if (port < 0) return false;
  } else if (!server.bind_to_port(kHost, port)) {
    return false;
  }
  server.set_pre_routing_handler([port](const httplib::Request& request,
                                        httplib::Response& response) {
    if (is_local(request.get_header_value("Host"), port)) {
      return httplib::Server::HandlerResponse::Unhandled;
    }
    response.status = 403;
    response.set_content("This server answers to 127.0.0.1 and localhost only.\n", "text/plain");
    return httplib::Server::HandlerResponse::Handled;
  });
  server.set_default_headers({{"Cache-Control", "no-store"},
                              {"X-Content-Type-Options", "nosniff"},
                              {"Referrer-Policy", "no-referrer"},
                              {"Cross-Origin-Resource-Policy", "same-origin"}});
  const auto give = [page](const httplib::Request&, httplib::Response& response) {
    response.set_content(page.data(), page.size(), "text/html; charset=utf-8");
  };
  server.Get("/", give);
  server.Get("/lesson.html", give);
  ready("http://" + std::string(kHost) + ":" + std::to_string(port) + "/");
  // A signal handler can only set a flag.
  std::atomic<bool> ended{false};
  std::thread watcher([&] {
    while (!*stop && !ended) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    server.stop();
  });
  server.listen_after_bind();
  ended = true;
  watcher.join();
  return true;
}

bool open_browser(const std::string& address) {
  const bool desktop = std::getenv("DISPLAY") != nullptr ||
                       std::getenv("WAYLAND_DISPLAY") != nullptr ||
                       std::getenv("WSL_DISTRO_NAME") != nullptr;
  if (!desktop) return false;
  std::string program = "xdg-open", argument = address;
  char* const arguments[] = {program.data(), argument.data(), nullptr};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  // What browsers write to the terminal is not for this command's reader.
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  const int failed = ::posix_spawnp(&pid, program.c_str(), &actions, nullptr, arguments, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return false;
  int status = 0;
  return ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace qkv::app
