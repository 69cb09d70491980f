static void check(grader::Exercise& exercise) {
  struct Shape {
    const char* name;
    int M, N, K, parts;
  };
  // The last has a part without any k: 5 in parts of 2.
  for (const Shape& s : {Shape{"32 x 64 x 256 in 4 parts", 32, 64, 256, 4},
                         Shape{"a drawn shape", 8 * exercise.drawn(1, 4), 32 * exercise.drawn(1, 2),
                               60 * exercise.drawn(2, 4), exercise.drawn(2, 5)},
                         Shape{"13 x 50 x 101 in 8 parts", 13, 50, 101, 8},
                         Shape{"3 x 5 x 5 in 4 parts", 3, 5, 5, 4}})
    exercise.add(s.name, [s](grader::Case& c) {
      const int lda = s.K + 1, ldb = s.N + 6, ldc = s.N + 8;
      const auto A = c.input<float>("A", s.M, s.K, lda), B = c.input<float>("B", s.K, s.N, ldb);
      const auto workspace = c.output<float>("workspace", s.parts * s.M, s.N);
      const auto C = c.output<float>("C", s.M, s.N, ldc);
      const dim3 tiles(ceil_div(s.N, 32), ceil_div(s.M, 8)), block(32, 8);
      c.launch(kernels::parts_kernel, dim3(tiles.x, tiles.y, s.parts), block, 0, s.M, s.N, s.K,
               A.data, lda, B.data, ldb, workspace.data);
      c.launch(kernels::add_kernel, tiles, block, 0, s.M, s.N, s.parts, workspace.data, C.data,
               ldc);
      c.expect_product(C, A, B);
    });
}
