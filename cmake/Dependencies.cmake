# Libraries: an installed one first, else a pinned release, checked by its hash.
include(FetchContent)
set(FETCHCONTENT_QUIET OFF)
set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)
foreach(option CLI11_INSTALL FMT_INSTALL INSTALL_GTEST JSON_Install) # `cmake --install` is for the kernels
  set(${option} OFF)
endforeach()

FetchContent_Declare(
  CLI11
  URL https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.4.1.tar.gz
  URL_HASH SHA256=73b7ec52261ce8fe980a29df6b4ceb66243bb0b779451dbd3d014cfec9fdbb58
  DOWNLOAD_EXTRACT_TIMESTAMP TRUE FIND_PACKAGE_ARGS 2.1)
FetchContent_Declare(
  nlohmann_json
  URL https://github.com/nlohmann/json/releases/download/v3.11.3/json.tar.xz
  URL_HASH SHA256=d6c65aca6b1ed68e7a182f4757257b107ae403032760ed6ef121c9d55e81757d
  DOWNLOAD_EXTRACT_TIMESTAMP TRUE FIND_PACKAGE_ARGS 3.10)
FetchContent_Declare(
  fmt
  URL https://github.com/fmtlib/fmt/archive/refs/tags/10.2.1.tar.gz
  URL_HASH SHA256=1250e4cc58bf06ee631567523f48848dc4596133e163f02615c97f78bab6c811
  DOWNLOAD_EXTRACT_TIMESTAMP TRUE FIND_PACKAGE_ARGS 9)
FetchContent_Declare(
  GTest
  URL https://github.com/google/googletest/archive/refs/tags/v1.14.0.tar.gz
  URL_HASH SHA256=8ad598c73ad796e0d8280b082cebd82a630d73e73cd3c70057938a6501bba5d7
  DOWNLOAD_EXTRACT_TIMESTAMP TRUE FIND_PACKAGE_ARGS 1.11)
FetchContent_MakeAvailable(CLI11 nlohmann_json fmt GTest)

find_package(Threads REQUIRED)

# Optional: the harness draws and checks its data faster with it.
find_package(OpenMP COMPONENTS CXX)
