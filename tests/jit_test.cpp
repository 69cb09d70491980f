// Kernels that are compiled at run time, as far as that needs no GPU: compiling them, and the
// cache.
#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "library/jit/cache.h"
#include "library/jit/compile.h"
#include "library/jit/sha256.h"

namespace ladder::jit {
namespace {

namespace fs = std::filesystem;
using tuned::Candidate;
using tuned::Kernel;

constexpr Candidate TOGETHER{Kernel::FIT_THE_WAVES, 64, 128, 1, 2, 1, 1};
constexpr Candidate IN_TURN{Kernel::PING_PONG, 32, 64, 1, 1, 1, 1};
constexpr Operands HALVES{"half"}, BF16{"ladder::bf16"};
constexpr Candidate FEW_ROWS{Kernel::FEW_ROWS, 8, 64, 1, 1, 2, 3};
const Epilogue LEAKY{"x += __half2float(bias[n]);\nreturn x > 0 ? x : slope * x;",
                     "const half* bias; float slope;"};
struct LeakyArguments {
  const void* bias;
  float slope;
};

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

class Jit : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "ladder_jit_XXXXXX").string();
    folder = mkdtemp(name.data());
  }
  void TearDown() override { fs::remove_all(folder); }

  Code code(const Candidate& tile, const Epilogue& epilogue = {}, size_t bytes = 0,
            const Operands& operands = HALVES) const {
    return code_of(source_of(tile, operands, epilogue, bytes), Cache(folder));
  }
  std::string error_of(const Epilogue& epilogue, size_t bytes = 0) const {
    try {
      code(IN_TURN, epilogue, bytes);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "no error";
  }
  std::vector<fs::path> files() const {
    return {fs::directory_iterator(folder), fs::directory_iterator()};
  }
  // Runs it in so many processes at the same time; how many of them did not return true.
  template <class Run>
  int failing(int processes, const Run& run) const {
    for (int i = 0; i < processes; ++i)
      if (fork() == 0) {
        bool is_right = false;
        try {
          is_right = run(i);
        } catch (...) {
        }
        _exit(is_right ? 0 : 1);
      }
    int failed = 0;
    for (int i = 0; i < processes; ++i) {
      int status = 0;
      wait(&status);
      failed += status != 0;
    }
    return failed;
  }

  fs::path folder;
};

// The sections of a cubin, which is an ELF file, that have instructions: bytes of the others may
// look like some.
std::string text_of(const std::string& cubin) {
  Elf64_Ehdr header;
  std::memcpy(&header, cubin.data(), sizeof header);
  std::string text;
  for (size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, &cubin.at(header.e_shoff + i * sizeof section), sizeof section);
    if (section.sh_flags & SHF_EXECINSTR) text += cubin.substr(section.sh_offset, section.sh_size);
  }
  return text;
}

using Instruction = std::array<uint64_t, 2>;
// All that have this code in their lowest bits.
std::vector<Instruction> instructions(const std::string& cubin, uint64_t code) {
  const std::string text = text_of(cubin);
  std::vector<Instruction> found(text.size() / sizeof(Instruction));
  std::memcpy(found.data(), text.data(), found.size() * sizeof(Instruction));
  found.erase(std::remove_if(found.begin(), found.end(),
                             [&](const Instruction& i) { return (i[0] & 0xFFF) != code; }),
              found.end());
  return found;
}

// Of each HGMMA, which wgmma becomes, what it multiplies, as "bf16 TN". Its first operand is B, for
// the product is transposed.
std::vector<std::string> all_wgmma(const std::string& cubin) {
  std::vector<std::string> all;
  for (const Instruction& hgmma : instructions(cubin, 0x9F0)) {
    const bool is_bf16 = hgmma[1] >> 12 & 1;
    const bool b_along_n = hgmma[0] >> 61 & 1, a_along_m = hgmma[0] >> 62 & 1;
    all.push_back(std::string(is_bf16 ? "bf16 " : "fp16 ") + (a_along_m ? "T" : "N") +
                  (b_along_n ? "N" : "T"));
  }
  return all;
}
size_t count_wgmma(const std::string& cubin) {
  return all_wgmma(cubin).size();
}

bool same(const Code& a, const Code& b) {
  return a.cubin == b.cubin && a.kernel == b.kernel && a.numbers == b.numbers;
}

// 64 of K in steps of 16, for each box of 64 columns that a warpgroup has.
TEST_F(Jit, KernelsMultiplyWithWgmma) {
  EXPECT_EQ(count_wgmma(code(TOGETHER).cubin), 4U);
  EXPECT_EQ(count_wgmma(code(TOGETHER, LEAKY, sizeof(LeakyArguments)).cubin), 4U);
  EXPECT_EQ(count_wgmma(code(IN_TURN, {"return fmaxf(x, 0);"}).cubin), 4U);
  EXPECT_EQ(count_wgmma(code(FEW_ROWS).cubin), 4U);
  const Epilogue bias{"return x + __bfloat162float(bias[n]);", "const bf16* bias;"};
  EXPECT_EQ(count_wgmma(code(TOGETHER, bias, sizeof(void*), BF16).cubin), 4U);
}

// LDL and STL, of what there are not the registers for.
TEST_F(Jit, EpiloguesOfLargeTilesSpillNothing) {
  const std::string cubin =
      code({Kernel::FIT_THE_WAVES, 168, 256, 1, 1, 1, 1}, LEAKY, sizeof(LeakyArguments)).cubin;
  for (const uint64_t opcode : {0x983, 0x387}) EXPECT_TRUE(instructions(cubin, opcode).empty());
}

TEST_F(Jit, TypesAndLayoutsAreTheProblems) {
  size_t kernels = 0;
  const auto expect_all = [&](const Candidate& tile, const Operands& operands,
                              const Epilogue& epilogue, const std::string& wgmma) {
    EXPECT_EQ(all_wgmma(code(tile, epilogue, 0, operands).cubin),
              std::vector<std::string>(4, wgmma))
        << tuned::name(tile);
    EXPECT_EQ(files().size(), ++kernels) << "another kernel's file was taken";
  };
  const Epilogue twice{"return x + x;"};
  for (const Operands type : {HALVES, BF16})
    for (const bool transposed_a : {false, true})
      for (const bool transposed_b : {false, true})
        expect_all({Kernel::FIT_THE_WAVES, 72, 128, 1, 1, 1, 1},
                   {type.type, transposed_a, transposed_b}, twice,
                   std::string(type.type == HALVES.type ? "fp16 " : "bf16 ") +
                       (transposed_a ? "T" : "N") + (transposed_b ? "T" : "N"));
  expect_all(IN_TURN, BF16, twice, "bf16 NN");
  expect_all(FEW_ROWS, BF16, {}, "bf16 NN");
  expect_all(FEW_ROWS, {BF16.type, false, true}, twice, "bf16 NT");
}

// What the kernels' headers make of a tile, by hand: 13's ring has 7 buffers of 24 KB, and four
// pieces of 64 rows of 128 bytes are on their way.
TEST_F(Jit, LaunchersGetTheNumbersOfATile) {
  const std::vector<int> together = code(TOGETHER).numbers;
  ASSERT_EQ(together.size(), 3u);
  EXPECT_EQ(together[0], 8 * 24 * 1024 + 4 * 64 * 128 + 8 * 16);
  EXPECT_EQ(together[1], 384);
  EXPECT_EQ(together[2], 64);
  // 72 rows of A along M are two boxes of 64, of which each is 8 KB.
  const std::vector<int> layout =
      code({Kernel::FIT_THE_WAVES, 72, 128, 1, 1, 1, 1}, {}, 0, {"half", true, false}).numbers;
  EXPECT_EQ(layout, (std::vector<int>{6 * 32 * 1024 + 4 * 64 * 128 + 6 * 16, 384, 64}));
  const std::vector<int> few_rows = code(FEW_ROWS).numbers;
  ASSERT_EQ(few_rows.size(), 3u);
  EXPECT_EQ(few_rows[1], 128 + 32);
  // A third of a multiprocessor's shared memory, less what it keeps for itself.
  EXPECT_LE(few_rows[0], 228 * 1024 / 3 - 1024);
  EXPECT_GT(few_rows[0] + 9 * 1024, 228 * 1024 / 3 - 1024);  // one buffer more is 9 KB more
}

TEST_F(Jit, TheSameIsCompiledOnce) {
  const Code first = code(IN_TURN);
  ASSERT_EQ(files().size(), 1u);
  const auto time = fs::last_write_time(files()[0]);
  EXPECT_TRUE(same(code(IN_TURN), first));
  EXPECT_EQ(fs::last_write_time(files()[0]), time);
}

TEST_F(Jit, AnotherTileOrEpilogueIsAnotherFile) {
  code(IN_TURN);
  code(IN_TURN, {"return x;"});
  code(IN_TURN, {"return x; "});
  code(IN_TURN, {"return x;", "float unused;"}, sizeof(float));
  code({Kernel::PING_PONG, 40, 64, 1, 1, 1, 1});
  EXPECT_EQ(files().size(), 5u);
}

TEST_F(Jit, AnEpiloguesHeaderIsPartOfTheContent) {
  const fs::path header = folder / "twice.cuh";
  const Epilogue epilogue{"return twice(x);", "", header};
  write(header, "float twice(float x) { return 2 * x; }\n");
  code(IN_TURN, epilogue);
  EXPECT_EQ(files().size(), 2u);
  write(header, "float twice(float x) { return x + x + 0 * x; }\n");
  code(IN_TURN, epilogue);
  EXPECT_EQ(files().size(), 3u);
  write(header, "\nfloat twice(float x) { return 2 * y; }\n");
  EXPECT_NE(error_of(epilogue).find("twice.cuh(2): error: identifier \"y\""), std::string::npos)
      << error_of(epilogue);
  fs::remove(header);
  EXPECT_EQ(error_of(epilogue), "cannot read the epilogue's header " + header.string());
}

TEST_F(Jit, ACorruptFileIsCompiledAnew) {
  code(IN_TURN);
  const fs::path file = files()[0];
  const std::string whole = contents(file);
  std::string flipped = whole;
  flipped[whole.size() / 2] ^= 1;
  for (const std::string& corrupt : {flipped, whole.substr(0, whole.size() - 1), whole + '\0',
                                     std::string(), std::string("\n")}) {
    write(file, corrupt);
    const Code again = code(IN_TURN);
    EXPECT_EQ(count_wgmma(again.cubin), 4U);
    // NVRTC draws names of its own: as many bytes, but not the same ones.
    EXPECT_EQ(fs::file_size(file), whole.size());
    EXPECT_TRUE(same(code(IN_TURN), again)) << "it was not stored again";
  }
}

TEST_F(Jit, MistakesInAnEpilogueAreShownWhereTheyAre) {
  const std::string unknown = error_of({"x *= 2;\nreturn x + offset;"});
  EXPECT_EQ(unknown.find("the epilogue does not compile"), 0u) << unknown;
  EXPECT_NE(unknown.find("epilogue(2): error: identifier \"offset\" is undefined"),
            std::string::npos)
      << unknown;
  const std::string field = error_of({"return x;", "float a;\nflaot b;"}, 8);
  EXPECT_NE(field.find("arguments(2): error: identifier \"flaot\""), std::string::npos) << field;
  const std::string size = error_of(LEAKY, 8);
  EXPECT_NE(size.find("the arguments that come with a call have another size"), std::string::npos)
      << size;
  EXPECT_NE(error_of({"", "float a;"}, 4).find("no body"), std::string::npos);
  EXPECT_TRUE(files().empty());
}

TEST_F(Jit, TilesWithoutAKernelAreRefusedByName) {
  const auto error = [&](const Candidate& tile, const Epilogue& epilogue = {},
                         const Operands& operands = HALVES) {
    try {
      source_of(tile, operands, epilogue, 0);
    } catch (const std::invalid_argument& refused) {
      return std::string(refused.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(error({Kernel::FIT_THE_WAVES, 100, 128, 1, 1, 1, 1}),
            "ladder::jit has no kernel for the tile 13 100x128");
  EXPECT_EQ(error({Kernel::FIT_THE_WAVES, 256, 256, 1, 1, 1, 1}),
            "ladder::jit has no kernel for the tile 13 256x256");
  EXPECT_EQ(error({Kernel::CHOSEN_BY_SHAPE, 128, 256, 1, 1, 1, 1}),
            "ladder::jit has no kernel for the tile 11c 128x256");
  EXPECT_EQ(error(FEW_ROWS, {"return x;"}, {"half", false, true}), "no error");
  EXPECT_EQ(error(TOGETHER, {"return x;"}), "no error");
  EXPECT_EQ(error(IN_TURN, {}, {"half", true, false}), "no error");
  EXPECT_EQ(error(FEW_ROWS, {}, {"ladder::bf16", true, false}),
            "ladder::jit has no kernel for the tile 14 8x64 split 2 resident 3 with A transposed");
  EXPECT_EQ(error({Kernel::FEW_ROWS, 256, 128, 1, 1, 3, 1}), "no error");
  EXPECT_EQ(error({Kernel::FEW_ROWS, 256, 128, 1, 1, 3, 2}),
            "ladder::jit has no kernel for the tile 14 256x128 split 3 resident 2");
}

TEST_F(Jit, ProcessesCompileBesideEachOther) {
  const auto is_right = [&](int) { return count_wgmma(code(FEW_ROWS).cubin) == 4U; };
  EXPECT_EQ(failing(4, is_right), 0);
  EXPECT_EQ(files().size(), 1u) << "something temporary was left";
}

TEST_F(Jit, AFileIsSeenWholeOrNotAtAll) {
  const Cache cache(folder);
  const auto value = [](int i) {
    return std::string(300000 + 1000 * i, static_cast<char>('a' + i));
  };
  EXPECT_EQ(failing(6,
                    [&](int i) {
                      for (int round = 0; round < 40; ++round) {
                        if (i < 3) cache.store("key", value(i));
                        const auto found = cache.find("key");
                        if (found && *found != value(0) && *found != value(1) && *found != value(2))
                          return false;
                        if (i < 3 && !found) return false;  // another writer's, but not nothing
                      }
                      return true;
                    }),
            0);
  EXPECT_EQ(files().size(), 1u);
}

// Two keys of one hash would share a file.
TEST_F(Jit, AnotherKeysFileIsNotTaken) {
  const Cache cache(folder);
  cache.store("one", "value");
  fs::rename(cache.file_of("one"), cache.file_of("two"));
  EXPECT_EQ(cache.find("two"), std::nullopt);
}

// In a process of its own, which an alarm ends where it waits.
TEST_F(Jit, WhatIsNoFileOfOnesOwnIsNotTaken) {
  const Cache cache(folder);
  cache.store("key", "value");
  const fs::path file = cache.file_of("key"), valid = folder / "valid";
  fs::rename(file, valid);
  const auto nothing_is_found = [&] {
    const bool is_so = failing(1, [&](int) {
                         alarm(3);
                         return cache.find("key") == std::nullopt;
                       }) == 0;
    fs::remove_all(file);
    return is_so;
  };
  EXPECT_TRUE(nothing_is_found());
  fs::create_directory(file);
  EXPECT_TRUE(nothing_is_found()) << "a folder";
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_TRUE(nothing_is_found()) << "a FIFO";
  for (const fs::path& target : {fs::path("/dev/zero"), valid}) {
    fs::create_symlink(target, file);
    EXPECT_TRUE(nothing_is_found()) << "a link to " << target;
  }
  std::ofstream(file).close();
  fs::resize_file(file, uintmax_t{1} << 40);
  EXPECT_TRUE(nothing_is_found()) << "a terabyte";

  fs::copy_file(valid, file);
  fs::permissions(file, fs::perms::group_write, fs::perm_options::add);
  EXPECT_TRUE(nothing_is_found()) << "one in which others may write";
  fs::copy_file(valid, file);
  if (geteuid() == 0) {  // who else can give a file away?
    ASSERT_EQ(chown(file.c_str(), 12345, 12345), 0);
    EXPECT_TRUE(nothing_is_found()) << "another user's";
    fs::copy_file(valid, file);
  }
  EXPECT_FALSE(nothing_is_found()) << "the file itself";
}

TEST_F(Jit, WhatIsNoFileIsReplaced) {
  const Cache cache(folder);
  const fs::path target = folder / "target";
  write(target, "");
  ASSERT_EQ(mkfifo(cache.file_of("one").c_str(), 0600), 0);
  fs::create_symlink(target, cache.file_of("two"));
  for (const char* key : {"one", "two"}) {
    cache.store(key, "value");
    EXPECT_EQ(cache.find(key), "value");
  }
  EXPECT_EQ(contents(target), "");
  // A folder stays, as does what it has; and nothing temporary beside it.
  fs::create_directory(cache.file_of("three"));
  EXPECT_EQ(failing(1,
                    [&](int) {
                      cache.store("three", "value");
                      return cache.find("three") == std::nullopt;
                    }),
            0);
  EXPECT_EQ(files().size(), 4u);
}

TEST_F(Jit, TheFolderIsForItsUserAlone) {
  for (const char* name : {"new", "in/new", "slash/"}) {
    const mode_t mask = umask(0);
    Cache(folder / name).store("key", "value");
    umask(mask);
    EXPECT_EQ(Cache(folder / name).find("key"), "value");
    EXPECT_EQ(fs::status(folder / name).permissions(), fs::perms::owner_all) << name;
  }
}

// FIPS 180-4 and its examples; the lengths are those around a block's end.
TEST_F(Jit, Sha256) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  std::string all;
  for (const size_t length : {55, 56, 63, 64, 65, 119, 120})
    all += sha256(std::string(length, '\xFF'));
  EXPECT_EQ(sha256(all), "3961e28edf9cd4fccf322c149ca0036387d6f828db4f4bd591e1e27896155dd9");
}

TEST_F(Jit, WithoutAFolderItWorksAndSaysSoOnce) {
  write(folder / "file", "");
  const Cache cache(folder / "file" / "cache");
  testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(count_wgmma(code_of(source_of(FEW_ROWS, HALVES, {}, 0), cache).cubin), 4U);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said, "gemm_ladder: nothing is cached: cannot write in " +
                      (folder / "file" / "cache").string() + "\n");
}

TEST_F(Jit, TheFolderIsTheUsersChoice) {
  setenv("HOME", "/h", 1);
  unsetenv("LADDER_CACHE");
  unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(cache_folder(), "/h/.cache/gemm_ladder");
  setenv("XDG_CACHE_HOME", "/x", 1);
  EXPECT_EQ(cache_folder(), "/x/gemm_ladder");
  setenv("LADDER_CACHE", "/l", 1);
  EXPECT_EQ(cache_folder(), "/l");
}

TEST_F(Jit, WithoutAGpuThereIsALine) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0) GTEST_SKIP() << "there is a GPU";
  try {
    compile(ladder::Gemm<bf16, bf16>{}, IN_TURN);
    FAIL() << "it compiled";
  } catch (const std::exception& error) {
    EXPECT_EQ(std::string(error.what()).find("ladder::jit needs a GPU"), 0u) << error.what();
  }
}

}  // namespace
}  // namespace ladder::jit
