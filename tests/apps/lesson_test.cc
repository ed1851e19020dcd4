// qkv lesson: as text, as a file, and served.
#include <httplib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lesson_page.h"
#include "run_command.h"

namespace qkv::app {
namespace {

using testing::HasSubstr;

TEST(LessonText, PrintsTheWorkedNumbers) {
  const Scratch scratch;
  const std::map<std::string, std::vector<std::string>> expected = {
      {"dot", {"1 x 1 + 2 x 1 = 3"}},
      {"turn", {"0.140", "0.284", "0.576", "[4.28, 5.72]"}},
      {"scale", {"8.08", "1.01", "0.99966", "0.00034", "0.665", "0.245", "0.090"}},
      {"heads", {"has 1048576, 8 heads of 64 have 1048576"}},
      {"machine", {"97 - 128", "2.227"}},
      {"set", {"without positions", "with positions added"}},
      {"figure", {"0.250  0.250  0.250  0.250"}},
      {"tokens", {"sum 1.000"}}};
  const Result all = run(scratch, {"lesson", "--text", "all"});
  expect_success(all);
  for (const auto& [section, texts] : expected) {
    const Result result = run(scratch, {"lesson", "--text", section});
    expect_success(result);
    for (const std::string& text : texts) EXPECT_THAT(result.out, HasSubstr(text)) << section;
    EXPECT_THAT(all.out, HasSubstr(result.out));
  }
}

TEST(LessonText, NamesItsSections) {
  const Scratch scratch;
  const Result list = run(scratch, {"lesson", "--text", "list"});
  expect_success(list);
  std::istringstream lines(list.out);
  int sections = 0;
  for (std::string line; std::getline(lines, line); ++sections) {
    expect_success(run(scratch, {"lesson", "--text", line.substr(0, line.find(' '))}));
  }
  EXPECT_EQ(sections, 8);
  expect_failure(run(scratch, {"lesson", "--text", "turns"}), 2, {"--text", "turns", "mean turn?"});
  expect_failure(run(scratch, {"lesson", "--text", "turn", "--write", "x"}), 2, {"--text"});
}

class LessonPage : public testing::Test {
 protected:
  void SetUp() override {
    if (lesson_page().empty()) GTEST_SKIP() << "built without the lesson page (scripts/web.sh)";
  }
};

TEST_F(LessonPage, IsWrittenAsItIs) {
  Scratch scratch;
  expect_success(run(scratch, {"lesson", "--write", "lesson.html"}));
  EXPECT_EQ(read_text(scratch / "lesson.html"), lesson_page());
  EXPECT_THAT(read_text(scratch / "lesson.html"), HasSubstr("<!doctype html>"));
  expect_failure(run(scratch, {"lesson", "--write", "lesson.html"}), 4, {"lesson.html", "--force"});
  expect_success(run(scratch, {"lesson", "--write", "lesson.html", "--force"}));
  expect_failure(run(scratch, {"lesson", "--write", "no/such/place.html"}), 4, {"place.html"});
  ASSERT_EQ(::symlink("nowhere", (scratch / "link.html").c_str()), 0);
  ASSERT_EQ(::mkfifo((scratch / "pipe").c_str(), 0600), 0);
  for (const char* name : {"link.html", "pipe", "."}) {
    expect_failure(run(scratch, {"lesson", "--write", name, "--force"}), 4,
                   {name, "no regular file"});
  }
  EXPECT_THAT(scratch.names(), testing::ElementsAre("lesson.html", "link.html", "pipe"));
}

TEST_F(LessonPage, IsServedToThisMachineOnly) {
  const Scratch scratch;
  Process process(scratch, {"lesson", "--no-open", "--port", "0"});
  ASSERT_TRUE(process.wait_for("Ctrl-C"));
  const std::string out = process.out();
  const std::size_t begin = out.find("http://127.0.0.1:");
  ASSERT_NE(begin, std::string::npos) << out;
  const int port = std::stoi(out.substr(begin + 17));

  httplib::Client client("127.0.0.1", port);
  for (const char* path : {"/", "/lesson.html"}) {
    const auto page = client.Get(path);
    ASSERT_TRUE(page);
    EXPECT_EQ(page->status, 200);
    EXPECT_EQ(page->body, lesson_page());
    EXPECT_EQ(page->get_header_value("Cache-Control"), "no-store");
  }
  EXPECT_EQ(client.Get("/etc/passwd")->status, 404);
  EXPECT_EQ(client.Get("/../README.md")->status, 404);
  // A name of another site that points here.
  EXPECT_EQ(client.Get("/", {{"Host", "attacker.example"}})->status, 403);
  EXPECT_EQ(client.Get("/", {{"Host", "127.0.0.1.attacker.example"}})->status, 403);
  EXPECT_EQ(client.Get("/", {{"Host", "localhost:" + std::to_string(port)}})->status, 200);

  const Scratch other;
  expect_failure(run(other, {"lesson", "--no-open", "--port", std::to_string(port)}), 2,
                 {"--port", std::to_string(port), "taken"});
  ASSERT_EQ(::kill(process.pid(), SIGINT), 0);
  expect_success(process.wait());
}

TEST(Lesson, RefusesBadPorts) {
  const Scratch scratch;
  expect_failure(run(scratch, {"lesson", "--port", "70000"}), 2, {"--port"});
  expect_failure(run(scratch, {"lesson", "--port", "x"}), 2, {"--port"});
  expect_failure(run(scratch, {"lesson", "--force"}), 2, {"--force"});
  expect_failure(run(scratch, {"lesson", "--no-open=1"}), 2, {"--no-open", "no value"});
}

}  // namespace
}  // namespace qkv::app
