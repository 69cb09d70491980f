static void check(grader::Exercise& exercise) {
  struct Shape {
    const char* name;
    int rows, columns, ld;
  };
  for (const Shape& s :
       {Shape{"64 x 128", 64, 128, 128},
        Shape{"a drawn shape", 32 * exercise.drawn(3, 5), 64 * exercise.drawn(1, 3), 192},
        Shape{"64 x 128 of 160", 64, 128, 160}, Shape{"5 x 70 of 72", 5, 70, 72},
        Shape{"100 x 24 of 32", 100, 24, 32}})
    exercise.add(s.name, [s](grader::Case& c) {
      void* encode = nullptr;
      cudaDriverEntryPointQueryResult found{};
      LADDER_CUDA_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode, 12000,
                                                         cudaEnableDefault, &found));
      const auto in = c.input<half>("in", s.rows, s.columns, s.ld);
      const dim3 grid(ceil_div(s.columns, 64), ceil_div(s.rows, 32));
      const auto out = c.output<half>("out", grid.y * 32, grid.x * 64);
      CUtensorMap map{};
      if (kernels::describe(reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(encode), &map,
                            in.data, s.rows, s.columns, s.ld) != CUDA_SUCCESS) {
#ifdef LADDER_CPU_DEVICE
        throw ladder::CudaError("the driver refuses the map: " + cpu_device::tensor_map_refusal());
#else
        throw ladder::CudaError("the driver refuses the map");
#endif
      }
      c.launch(kernels::boxes_kernel, grid, dim3(128), sizeof(kernels::Shared), map, out.data,
               static_cast<int>(out.ld));
      c.expect(out, 0, [&](int row, int column) {
        return row < s.rows && column < s.columns ? in.value(row, column) : 0.0;
      });
    });
}
