static void check(grader::Exercise& exercise) {
  struct Shape {
    const char* name;
    int M, N, K;
  };
  for (const Shape& s :
       {Shape{"64 x 256 x 384", 64, 256, 384},
        Shape{"a drawn shape", 64, 128 * exercise.drawn(1, 3), 128 * exercise.drawn(4, 5)},
        Shape{"41 x 200 x 272", 41, 200, 272}, Shape{"64 x 128 x 128", 64, 128, 128},
        Shape{"1 x 8 x 16", 1, 8, 16}})
    exercise.add(s.name, [s](grader::Case& c) {
      // Integers whose sums the tensor core does not round, and factors that differ.
      const auto draw = [](uint64_t bits) { return e4m3(static_cast<float>(bits % 17) - 8); };
      const auto factor = [](uint64_t bits) { return 0.5f + static_cast<float>(bits % 16) / 4; };
      const int parts = ceil_div(s.K, 128);
      const auto A = c.input<e4m3>("A", s.M, s.K, 0, draw);
      const auto B = c.input<e4m3>("B", s.N, s.K, 0, draw);
      const auto of_A = c.input<float>("scales_A", parts, s.M, 0, factor);
      const auto of_B = c.input<float>("scales_B", ceil_div(s.N, 128), parts, 0, factor);
      const auto C = c.output<float>("C", s.M, s.N);
      c.launch(kernels::gemm_kernel, dim3(ceil_div(s.N, 128)), dim3(128), sizeof(kernels::Shared),
               s.M, s.N, ptx::tensor_map(A.data, s.M, s.K, s.K, 64),
               ptx::tensor_map(B.data, s.N, s.K, s.K, 128),
               kernels::Scales{of_A.data, of_B.data, parts}, C.data);
      c.expect(C, 1e-3, [&](int row, int column) {
        double sum = 0;
        for (int k = 0; k < s.K; ++k)
          sum += A.value(row, k) * of_A.value(k / 128, row) * B.value(column, k) *
                 of_B.value(column / 128, k / 128);
        return sum;
      });
    });
}
