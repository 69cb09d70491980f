static void check(grader::Exercise& exercise) {
  struct Shape {
    const char* name;
    int M, N, K;
    bool has_signs;
  };
  for (const Shape& s :
       {Shape{"64 x 64 x 96", 64, 64, 96, true},
        Shape{"a drawn shape", 64, 64, 32 * exercise.drawn(1, 2), true},
        Shape{"64 x 64 x 32, from 1 to 2", 64, 64, 32, false},
        Shape{"41 x 24 x 72, from 1 to 2", 41, 24, 72, false}, Shape{"1 x 8 x 4", 1, 8, 4, true}})
    exercise.add(s.name, [s](grader::Case& c) {
      const auto draw = [s](uint64_t bits) {
        const float drawn = grader::uniform<float>(bits);
        return s.has_signs ? drawn : 1.5f + drawn / 2;
      };
      const auto A = c.input<float>("A", s.M, s.K, 0, draw);
      const auto B = c.input<float>("B", s.N, s.K, 0, draw);
      const auto C = c.output<float>("C", s.M, s.N);
      c.launch(kernels::gemm_kernel, dim3(1), dim3(128), sizeof(kernels::Shared), s.M, s.N, s.K,
               ptx::tensor_map(A.data, s.M, s.K, s.K, 64),
               ptx::tensor_map(B.data, s.N, s.K, s.K, 64), C.data);
      // Three products are off by less than 1e-5 here. Two are off by 1e-4 of the result and more.
      c.expect(C, 2e-5, [&](int row, int column) {
        double sum = 0;
        for (int k = 0; k < s.K; ++k) sum += A.value(row, k) * B.value(column, k);
        return sum;
      });
    });
}
