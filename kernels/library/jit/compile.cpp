#include "compile.h"

#include <dlfcn.h>
#include <nvrtc.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "headers.h"

namespace ladder::jit {
namespace {

using tuned::Candidate;
using tuned::Kernel;

void require_success(const char* call, nvrtcResult result) {
  if (result != NVRTC_SUCCESS)
    throw std::runtime_error(std::string(call) + ": " + nvrtcGetErrorString(result));
}

// ---- The source --------------------------------------------------------------------------------

// Sums a thread of a consumer can have beside everything else.
constexpr int MOST_SUMS = 192;

}  // namespace

bool has_kernel(const Candidate& c, const Operands& o) {
  const auto is_one_or_two = [](int count) { return count == 1 || count == 2; };
  const bool is_together = c.kernel == Kernel::FIT_THE_WAVES;
  if (c.BM < 8 || c.BM > 256 || c.BM % 8 != 0) return false;
  switch (c.kernel) {
    case Kernel::FIT_THE_WAVES:
    case Kernel::PING_PONG: {
      const int narrowest = is_together ? 128 : 64;  // consumers' columns
      return (c.BN == narrowest || c.BN == 2 * narrowest) &&
             c.BM * c.BN / (2 * narrowest) <= MOST_SUMS && is_one_or_two(c.down) &&
             is_one_or_two(c.across) && c.split == 1 && c.resident == 1;
    }
    case Kernel::FEW_ROWS:
      return !o.transposed_a && (c.BN == 64 || c.BN == 128) && c.down == 1 && c.across == 1 &&
             c.split >= 1 && c.split <= 8 && c.resident >= 1 && c.resident <= (c.BM <= 128 ? 3 : 1);
    case Kernel::CHOSEN_BY_SHAPE:
      return false;
  }
  return false;
}

namespace {

std::string contents_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file) throw std::invalid_argument("cannot read the epilogue's header " + path.string());
  return text;
}

// What the templates of all stages begin with.
std::string type_and_sizes(const Candidate& c, const Operands& o) {
  return std::string(o.type) + ", " + std::to_string(c.BM) + ", " + std::to_string(c.BN);
}

// The form of A's rows in memory, or of B's columns.
std::string form(bool along_k) {
  return along_k ? "ladder::ptx::Major::K" : "ladder::ptx::Major::MN";
}

// Of 13 and 13b, whose kernel has `order` behind the pairs.
Source of_tiles(const Candidate& c, const Operands& o, const std::string& ns,
                const std::string& order, const std::string& finish) {
  constexpr const char* PAIRS[2][2] = {{"NONE", "SHARE_A"}, {"SHARE_B", "SHARE_BOTH"}};
  const std::string forms = form(!o.transposed_a) + ", " + form(o.transposed_b);
  const std::string tile = type_and_sizes(c, o);
  const std::string shared = ns + "Shared<" + tile + ", " + forms + ">";
  return {"",
          ns + "gemm_kernel<" + tile + ", " + ns + "Pairs::" + PAIRS[c.down - 1][c.across - 1] +
              ", " + order + forms + ", " + finish + ">",
          "ladder::jit::numbers<sizeof(" + shared + "), " + ns + "THREADS, " + shared + "::PIECE>"};
}
Source of_few_rows(const Candidate& c, const Operands& o, const std::string& finish) {
  const std::string ns = "ladder::few_rows::",
                    shared = ns + "Shared<" + type_and_sizes(c, o) + ", " +
                             std::to_string(c.split) + ", " + form(o.transposed_b) + ">",
                    buffers = ns + "buffers_of<" + shared + ">(" + std::to_string(c.resident) + ")";
  return {"", ns + "gemm_kernel<" + shared + ", " + o.type + ", " + finish + ">",
          "ladder::jit::numbers<" + shared + "::bytes(" + buffers + "), " + shared + "::THREADS, " +
              buffers + ">"};
}

}  // namespace

Source source_of(const Candidate& c, const Operands& o, const Epilogue& epilogue,
                 size_t arguments_bytes) {
  if (!has_kernel(c, o)) {
    constexpr const char* BY_COLUMNS[2][2] = {{"", " with B transposed"},
                                              {" with A transposed", " with A and B transposed"}};
    throw std::invalid_argument("ladder::jit has no kernel for the tile " + tuned::name(c) +
                                BY_COLUMNS[o.transposed_a][o.transposed_b]);
  }
  const bool is_product_alone = epilogue.body.empty();
  if (is_product_alone && arguments_bytes > 0)
    throw std::invalid_argument("there are arguments, but the epilogue has no body that uses them");

  const std::string finish = is_product_alone ? "ladder::ProductAlone" : "ladder::jit::Finish";
  Source source;
  std::string stage;
  if (c.kernel == Kernel::FEW_ROWS) {
    stage = "14_few_rows";
    source = of_few_rows(c, o, finish);
  } else {
    const bool is_together = c.kernel == Kernel::FIT_THE_WAVES;
    stage = is_together ? "13_fit_the_waves" : "13b_ping_pong";
    source = of_tiles(c, o, is_together ? "ladder::fit_the_waves::" : "ladder::ping_pong::",
                      is_together ? "" : "ladder::ping_pong::Order::IN_TURN, ", finish);
  }

  std::ostringstream text;
  text << "#include \"prelude.cuh\"\n#include \"" << stage << ".cuh\"\n";
  if (!is_product_alone) {
    if (!epilogue.header.empty())
      text << "#line 1 \"" << epilogue.header.filename().string() << "\"\n"
           << contents_of(epilogue.header) << "\n";
    // A struct without fields has one byte.
    text << "namespace ladder::jit {\nstruct Arguments {\n#line 1 \"arguments\"\n"
         << epilogue.arguments
         << "\n__device__ __forceinline__ float operator()(float x, int m, int n) const {\n#line 1 "
            "\"epilogue\"\n"
         << epilogue.body << "\n}\n};\nstatic_assert(sizeof(Arguments) == "
         << (arguments_bytes == 0 ? 1 : arguments_bytes)
         << ", \"the arguments that come with a call have another size than the epilogue's\");\n}\n"
         << "#include \"finish.cuh\"\n";
  }
  source.text = text.str();
  return source;
}

// ---- NVRTC -------------------------------------------------------------------------------------

namespace {

// The folder of CUDA's headers: those that NVRTC came with, else those of the build.
std::string include_folder() {
  Dl_info info{};
  std::vector<std::filesystem::path> folders;
  if (dladdr(dlsym(RTLD_DEFAULT, "nvrtcVersion"), &info) != 0)
    folders.push_back(std::filesystem::path(info.dli_fname).parent_path() / ".." / "include");
  folders.push_back(LADDER_CUDA_INCLUDE);
  std::string tried;
  for (const auto& folder : folders) {
    if (std::filesystem::exists(folder / "cuda_fp16.h")) return folder.string();
    tried += (tried.empty() ? "" : " nor in ") + folder.string();
  }
  throw std::runtime_error("cuda_fp16.h, which NVRTC needs, is neither in " + tried);
}

struct Program {
  nvrtcProgram program = nullptr;

  explicit Program(const Source& source) {
    std::vector<const char*> names, texts;
    for (size_t i = 0; i < HEADER_COUNT; ++i) {
      names.push_back(HEADERS[i].name);
      texts.push_back(HEADERS[i].text);
    }
    require_success("nvrtcCreateProgram",
                    nvrtcCreateProgram(&program, source.text.c_str(), "kernel.cu",
                                       static_cast<int>(names.size()), texts.data(), names.data()));
  }
  ~Program() { nvrtcDestroyProgram(&program); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
};

std::string log_of(nvrtcProgram program) {
  size_t size = 0;
  require_success("nvrtcGetProgramLogSize", nvrtcGetProgramLogSize(program, &size));
  std::string log(size, '\0');
  require_success("nvrtcGetProgramLog", nvrtcGetProgramLog(program, log.data()));
  return log.c_str();  // without the zero at its end
}

std::string mangled(nvrtcProgram program, const std::string& name) {
  const char* result = nullptr;
  require_success("nvrtcGetLoweredName", nvrtcGetLoweredName(program, name.c_str(), &result));
  return result;
}

// "Li<number>E" each, of a template's arguments.
std::vector<int> numbers_in(const std::string& name) {
  std::vector<int> numbers;
  for (size_t at = 0; (at = name.find("Li", at)) != std::string::npos; at += 2)
    numbers.push_back(std::atoi(name.c_str() + at + 2));
  return numbers;
}

Code compiled(const Source& source, const std::vector<std::string>& options) {
  std::vector<std::string> all = options;
  all.push_back("-I" + include_folder());
  std::vector<const char*> pointers;
  for (const std::string& option : all) pointers.push_back(option.c_str());

  const Program p(source);
  for (const std::string* name : {&source.kernel, &source.numbers})
    require_success("nvrtcAddNameExpression", nvrtcAddNameExpression(p.program, name->c_str()));
  const nvrtcResult result =
      nvrtcCompileProgram(p.program, static_cast<int>(pointers.size()), pointers.data());
  if (result != NVRTC_SUCCESS)
    throw CompileError(std::string("the epilogue does not compile: ") +
                       nvrtcGetErrorString(result) + "\n" + log_of(p.program));
  size_t size = 0;
  require_success("nvrtcGetCUBINSize", nvrtcGetCUBINSize(p.program, &size));
  Code code{std::string(size, '\0'), mangled(p.program, source.kernel),
            numbers_in(mangled(p.program, source.numbers))};
  require_success("nvrtcGetCUBIN", nvrtcGetCUBIN(p.program, code.cubin.data()));
  return code;
}

// In the cache: the name, the numbers, and behind a line of its own the machine code.
std::string as_text(const Code& code) {
  std::string text = code.kernel;
  for (const int number : code.numbers) text += " " + std::to_string(number);
  return text + "\n" + code.cubin;
}
Code from_text(const std::string& text) {
  const size_t end = text.find('\n');
  std::istringstream line(text.substr(0, end));
  Code code;
  line >> code.kernel;
  for (int number = 0; line >> number;) code.numbers.push_back(number);
  code.cubin = text.substr(end + 1);
  return code;
}

}  // namespace

Code code_of(const Source& source, const Cache& cache) {
  int major = 0, minor = 0;
  require_success("nvrtcVersion", nvrtcVersion(&major, &minor));
  const std::vector<std::string> options = {"-arch=sm_90a", "-std=c++17", "-default-device"};
  std::string key =
      "NVRTC " + std::to_string(major) + "." + std::to_string(minor) + ", headers " + HEADERS_HASH;
  for (const std::string& option : options) key += " " + option;
  key += "\n" + source.kernel + "\n" + source.numbers + "\n" + source.text;

  if (const auto cached = cache.find(key)) return from_text(*cached);
  const Code code = compiled(source, options);
  cache.store(key, as_text(code));
  return code;
}

}  // namespace ladder::jit
