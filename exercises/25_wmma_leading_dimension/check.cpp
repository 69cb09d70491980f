static void check(grader::Exercise& exercise) {
  struct Shape {
    const char* name;
    int M, N, K;
  };
  for (const Shape& s : {Shape{"64 x 64 x 64", 64, 64, 64},
                         Shape{"a drawn shape", 16 * exercise.drawn(1, 4),
                               16 * exercise.drawn(1, 4), 16 * exercise.drawn(5, 7)},
                         Shape{"16 x 48 x 50", 16, 48, 50}, Shape{"48 x 16 x 7", 48, 16, 7}})
    exercise.add(s.name, [s](grader::Case& c) {
      const int lda = ceil_div(s.K, 8) * 8, ldb = s.N + 8, ldc = s.N + 4;
      const auto A = c.input<half>("A", s.M, s.K, lda), B = c.input<half>("B", s.K, s.N, ldb);
      const auto C = c.output<float>("C", s.M, s.N, ldc);
      c.launch(kernels::gemm_kernel, dim3(s.N / 16, s.M / 16), dim3(32), 0, s.K, A.data, lda,
               B.data, ldb, C.data, ldc);
      c.expect_product(C, A, B);
    });
}
