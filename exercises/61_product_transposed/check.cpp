static void check(grader::Exercise& exercise) {
  struct Shape {
    const char* name;
    int M, N, K;
  };
  for (const Shape& s :
       {Shape{"8 x 64 x 64", 8, 64, 64},
        Shape{"a drawn shape", 8, 64 * exercise.drawn(1, 3), 16 * exercise.drawn(5, 7)},
        Shape{"8 x 64 x 16", 8, 64, 16}, Shape{"5 x 136 x 50", 5, 136, 50},
        Shape{"1 x 8 x 3", 1, 8, 3}})
    exercise.add(s.name, [s](grader::Case& c) {
      const auto A = c.input<half>("A", s.M, s.K), B = c.input<half>("B", s.K, s.N);
      const auto C = c.output<half>("C", s.M, s.N);
      c.launch(kernels::gemm_kernel, dim3(ceil_div(s.N, 64)), dim3(32), 0, s.M, s.N, s.K, A.data,
               B.data, C.data);
      c.expect_product(C, A, B);
    });
}
