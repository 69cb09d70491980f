// How many blocks of the kernel fit on a multiprocessor of an H200: docs/concepts/occupancy.md.
static int blocks_of(const kernels::Kernel& kernel) {
  constexpr int WARPS = 64, BLOCKS = 32, SCHEDULERS = 4, REGISTERS = 65536, BYTES = 228 * 1024;
  const int warps = ceil_div(kernel.threads, 32);
  const int warp_registers = ceil_div(kernel.registers, 8) * 8 * 32;
  const int by_registers = REGISTERS / SCHEDULERS / warp_registers * SCHEDULERS / warps;
  const int by_shared = BYTES / (kernel.shared_bytes + 1024);
  return min(min(WARPS / warps, BLOCKS), min(by_registers, by_shared));
}

static void check(grader::Exercise& exercise) {
  for (const kernels::Kernel& kernel : kernels::KERNELS)
    exercise.add(kernel.name, [kernel](grader::Case& c) {
      const int count = blocks_of(kernel);
      const auto blocks = c.output<float>("blocks", 1, count);
      c.launch(kernels::resident_kernel, dim3(count), dim3(32), 0, blocks.data);
      c.expect(blocks, 0, [](int, int) { return 1; });
    });
}
