static void check(grader::Exercise& exercise) {
  struct Shape {
    const char* name;
    int M, N, K;
  };
  for (const Shape& s : {Shape{"16 x 64 x 64", 16, 64, 64},
                         Shape{"a drawn shape", 8 * exercise.drawn(1, 2), 32 * exercise.drawn(1, 3),
                               16 * exercise.drawn(5, 8)},
                         Shape{"16 x 32 x 100", 16, 32, 100}, Shape{"13 x 96 x 41", 13, 96, 41},
                         Shape{"8 x 64 x 24", 8, 64, 24}, Shape{"1 x 32 x 16", 1, 32, 16},
                         Shape{"16 x 32 x 5", 16, 32, 5}})
    exercise.add(s.name, [s](grader::Case& c) {
      const auto A = c.input<float>("A", s.M, s.K), B = c.input<float>("B", s.K, s.N);
      const auto C = c.output<float>("C", s.M, s.N);
      c.launch_clusters(2, kernels::gemm_kernel, dim3(2 * ceil_div(s.N, 32)), dim3(64),
                        sizeof(kernels::Shared), s.M, s.N, s.K, A.data, B.data, C.data);
      c.expect_product(C, A, B);
    });
}
