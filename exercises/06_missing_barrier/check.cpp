static void check(grader::Exercise& exercise) {
  struct Shape {
    const char* name;
    int M, N, K;
  };
  for (const Shape& s : {Shape{"64 x 64 x 64", 64, 64, 64},
                         Shape{"a drawn shape", 16 * exercise.drawn(1, 4),
                               16 * exercise.drawn(1, 4), 16 * exercise.drawn(5, 7)},
                         Shape{"30 x 45 x 50", 30, 45, 50}, Shape{"16 x 16 x 16", 16, 16, 16},
                         Shape{"1 x 17 x 3", 1, 17, 3}})
    exercise.add(s.name, [s](grader::Case& c) {
      const int lda = ceil_div(s.K, 8) * 8, ldb = ceil_div(s.N, 8) * 8, ldct = ceil_div(s.M, 8) * 8;
      const auto A = c.input<float>("A", s.M, s.K, lda), B = c.input<float>("B", s.K, s.N, ldb);
      const auto Ct = c.output<float>("Ct", s.N, s.M, ldct);
      c.launch(kernels::gemm_kernel, dim3(ceil_div(s.N, 16), ceil_div(s.M, 16)), dim3(16, 16), 0,
               s.M, s.N, s.K, A.data, lda, B.data, ldb, Ct.data, ldct);
      c.expect(Ct, 2e-5, [&](int column, int row) {
        double sum = 0;
        for (int k = 0; k < s.K; ++k) sum += A.value(row, k) * B.value(k, column);
        return sum;
      });
    });
}
