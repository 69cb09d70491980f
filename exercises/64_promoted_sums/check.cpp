static void check(grader::Exercise& exercise) {
  struct Shape {
    const char* name;
    int M, N, K;
    bool has_signs;
  };
  for (const Shape& s :
       {Shape{"64 x 64 x 1024", 64, 64, 1024, false},
        Shape{"a drawn shape", 64, 64, 128 * exercise.drawn(3, 7), false},
        Shape{"64 x 64 x 128", 64, 64, 128, true},
        Shape{"64 x 64 x 384, with signs", 64, 64, 384, true},
        Shape{"33 x 24 x 272", 33, 24, 272, false}, Shape{"1 x 8 x 16", 1, 8, 16, true}})
    exercise.add(s.name, [s](grader::Case& c) {
      // 9 or 11. The sum of 128 products is at most 15,488, below 2^14, and has to be exact.
      const auto draw = [s](uint64_t bits) {
        const float magnitude = bits & 1 ? 9.0f : 11.0f;
        return e4m3(s.has_signs && bits & 2 ? -magnitude : magnitude);
      };
      const auto A = c.input<e4m3>("A", s.M, s.K, 0, draw);
      const auto B = c.input<e4m3>("B", s.N, s.K, 0, draw);
      const auto C = c.output<float>("C", s.M, s.N);
      c.launch(kernels::gemm_kernel, dim3(1), dim3(128), sizeof(kernels::Shared), s.M, s.N, s.K,
               ptx::tensor_map(A.data, s.M, s.K, s.K, 64),
               ptx::tensor_map(B.data, s.N, s.K, s.K, 64), C.data);
      c.expect(C, 0, [&](int row, int column) {
        double sum = 0;
        for (int k = 0; k < s.K; ++k) sum += A.value(row, k) * B.value(column, k);
        return sum;
      });
    });
}
