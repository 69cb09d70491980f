#include "harness/output.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "harness/options.h"

namespace ladder::harness {
namespace {

namespace fs = std::filesystem;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Output : public testing::Test {
 protected:
  void SetUp() override { fs::create_directory(folder); }
  void TearDown() override { fs::remove_all(folder); }
  size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {}));
  }
  std::string folder = testing::TempDir() + "output_test_" + std::to_string(getpid());
  std::string path = folder + "/x.json";
};

TEST_F(Output, CheckingAPathLeavesNothing) {
  require_writable("--json", path);
  EXPECT_EQ(0u, files());
}

TEST_F(Output, PathsThatCannotBeWrittenAreRefused) {
  fs::create_symlink(path, path);
  for (const std::string& bad : {folder, folder + "/missing/x.json", path, std::string()})
    EXPECT_THROW(require_writable("--json", bad), UsageError) << bad;
}

TEST_F(Output, WritesWholeAndReplaces) {
  write_whole(path, "old text, longer");
  write_whole(path, "new");
  EXPECT_EQ("new", text_of(path));
  EXPECT_EQ(1u, files());
}

// A file that is open for reading keeps the text that it had: what is new is another file.
TEST_F(Output, AReaderSeesTheOldTextOrTheNewOne) {
  write_whole(path, "old text");
  std::ifstream file(path);
  write_whole(path, "new");
  EXPECT_EQ("old text", std::string(std::istreambuf_iterator<char>(file), {}));
}

TEST_F(Output, AFileKeepsItsPermissions) {
  write_whole(path, "old text");
  EXPECT_NE(0u, unsigned(fs::status(path).permissions() & fs::perms::owner_write));
  fs::permissions(path, fs::perms(0640));
  write_whole(path, "new");
  EXPECT_EQ(fs::perms(0640), fs::status(path).permissions());
}

// As on a full disk: the old text stays, and nothing is left beside it.
TEST_F(Output, WhatCannotBeWrittenChangesNothing) {
  write_whole(path, "old text");
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, SIG_IGN);
  const rlimit small{2, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THROW(write_whole(path, "new"), std::runtime_error);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ("old text", text_of(path));
  EXPECT_EQ(1u, files());
}

TEST_F(Output, ALinkStaysAndItsFileIsWritten) {
  fs::create_directory(folder + "/other");
  for (const std::string& link : {path, folder + "/to_the_link"})
    fs::create_symlink(link == path ? "other/target" : "x.json", link);
  for (const char* text : {"first", "second"}) {  // the first time there is no file
    require_writable("--json", folder + "/to_the_link");
    write_whole(folder + "/to_the_link", text);
    EXPECT_TRUE(fs::is_symlink(path) && fs::is_symlink(folder + "/to_the_link"));
    EXPECT_EQ(text, text_of(folder + "/other/target"));
  }
}

// Nobody can prepare a link of the temporary file's name.
TEST_F(Output, NothingBesideTheFileIsWritten) {
  write_whole(folder + "/other", "other");
  fs::create_symlink("other", path + "." + std::to_string(getpid()) + ".tmp");
  require_writable("--json", path);
  write_whole(path, "new");
  EXPECT_EQ("other", text_of(folder + "/other"));
}

// As a device's node, which a test had better not replace.
TEST_F(Output, APipeIsWrittenThrough) {
  ASSERT_EQ(0, mkfifo(path.c_str(), 0600));
  std::string read;
  std::thread reader([&] { read = text_of(path); });
  require_writable("--json", path);
  write_whole(path, "through");
  reader.join();
  EXPECT_EQ("through", read);
  EXPECT_TRUE(fs::is_fifo(path));
}

TEST_F(Output, OneFileIsKnownByAllItsNames) {
  fs::create_symlink("x.json", folder + "/link");
  fs::create_symlink(folder, folder + "/here");
  for (const char* name : {"/x.json", "/./x.json", "/here/x.json", "/link", "/here/link"})
    EXPECT_TRUE(is_same_file(path, folder + name)) << name;
  EXPECT_FALSE(is_same_file(path, folder + "/y.json"));
  EXPECT_FALSE(is_same_file("/dev/null", "/dev/null"));  // which both may be written to
}

}  // namespace
}  // namespace ladder::harness
