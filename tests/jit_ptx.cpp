// jit_ptx FILE: the PTX that NVRTC makes of one kernel of each kind that ladder::jit compiles, for
// ./ladder wgmma-registers. Includes compile.cpp itself, for what it gives to NVRTC.
#include "library/jit/compile.cpp"

namespace {

using namespace ladder::jit;
using ladder::tuned::Kernel;

const ladder::jit::Epilogue LEAKY{"return x > 0 ? x : slope * x;", "float slope;"};

void write_ptx(std::ostream& out, const Candidate& tile, const Operands& operands,
               const ladder::jit::Epilogue& epilogue) {
  const Source source =
      source_of(tile, operands, epilogue, epilogue.body.empty() ? 0 : sizeof(float));
  const Program p(source);
  require_success("nvrtcAddNameExpression",
                  nvrtcAddNameExpression(p.program, source.kernel.c_str()));
  const std::string include = "-I" + include_folder();
  const char* const options[] = {"-arch=compute_90a", "-std=c++17", "-default-device", "-lineinfo",
                                 include.c_str()};
  if (nvrtcCompileProgram(p.program, std::size(options), options) != NVRTC_SUCCESS)
    throw std::runtime_error(log_of(p.program));
  size_t size = 0;
  require_success("nvrtcGetPTXSize", nvrtcGetPTXSize(p.program, &size));
  std::string ptx(size, '\0');
  require_success("nvrtcGetPTX", nvrtcGetPTX(p.program, ptx.data()));
  out << ptx.c_str();
}

}  // namespace

int main(int, char** argv) {
  std::ofstream out(argv[1]);
  out.exceptions(std::ios::failbit | std::ios::badbit);
  const Operands halves{"half"}, bf16{"ladder::bf16"};
  for (const auto& epilogue : {ladder::jit::Epilogue{}, LEAKY}) {
    write_ptx(out, {Kernel::FIT_THE_WAVES, 168, 256, 1, 1, 1, 1}, halves, epilogue);
    write_ptx(out, {Kernel::FIT_THE_WAVES, 64, 128, 2, 2, 1, 1}, bf16, epilogue);
    write_ptx(out, {Kernel::PING_PONG, 128, 128, 1, 2, 1, 1}, halves, epilogue);
    write_ptx(out, {Kernel::FIT_THE_WAVES, 72, 128, 1, 1, 1, 1}, {"half", true, true}, epilogue);
  }
  write_ptx(out, {Kernel::FEW_ROWS, 8, 64, 1, 1, 2, 3}, halves, {});
}
