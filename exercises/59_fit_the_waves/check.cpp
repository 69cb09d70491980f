static void check(grader::Exercise& exercise) {
  struct Best {
    int height, blocks;
  };
  const auto best = [](int M, int N, int places) {
    Best found = {};
    for (int height = 192, least = 1 << 30; height > 0; height -= 8) {
      const int tiles = ceil_div(M, height) * ceil_div(N, 256), waves = ceil_div(tiles, places);
      if (waves * (height + 75) >= least) continue;
      least = waves * (height + 75);
      found = {height, ceil_div(tiles, waves)};
    }
    return found;
  };
  const auto add = [&](const std::string& name, int n, int places,
                       const std::function<int(uint64_t)>& row,
                       const std::function<int(uint64_t)>& column) {
    exercise.add(name, [=](grader::Case& c) {
      const auto M = c.input<int>("M", 1, n, 0, row), N = c.input<int>("N", 1, n, 0, column);
      const auto heights = c.output<int>("heights", 1, n), blocks = c.output<int>("blocks", 1, n);
      c.launch(kernels::choose_kernel, dim3(ceil_div(n, 64)), dim3(64), 0, n, M.data, N.data,
               places, heights.data, blocks.data);
      c.expect(heights, 0, [&](int, int i) { return best(M(i), N(i), places).height; });
      c.expect(blocks, 0, [&](int, int i) { return best(M(i), N(i), places).blocks; });
    });
  };
  struct Shape {
    int M, N, places;
  };
  for (const Shape& s :
       {Shape{8192, 1280, 132}, Shape{4096, 4096, 132}, Shape{3000, 3000, 132},
        Shape{1536, 1536, 132}, Shape{5000, 5000, 66}, Shape{100, 700, 132}, Shape{1, 1, 132}})
    add(
        std::to_string(s.M) + " x " + std::to_string(s.N) + " on " + std::to_string(s.places), 1,
        s.places, [s](uint64_t) { return s.M; }, [s](uint64_t) { return s.N; });
  const auto drawn = [](uint64_t bits) { return 1 + static_cast<int>(bits % 8192); };
  for (const int places : {132, 114, 20})
    add("150 shapes on " + std::to_string(places), 150, places, drawn, drawn);
}
