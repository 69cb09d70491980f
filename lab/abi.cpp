// Where a run begins, and what wasm32's libc++abi leaves out, as it is built without exceptions and
// threads. What is thrown ends the run with its message.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <typeinfo>

extern "C" {
[[noreturn, clang::import_module("lab"), clang::import_name("end")]] void lab_end(
    const char* message);

void __wasm_call_ctors();
int __main_void();  // main(), with WASI's arguments

// A call of __wasm_call_ctors also tells the linker that nobody else does it: else each call of an
// exported function, of each fiber, would construct all global variables again.
[[clang::export_name("lab_main")]] int lab_main() {
  __wasm_call_ctors();
  const int code = __main_void();
  std::fflush(nullptr);
  return code;
}

void* __cxa_allocate_exception(size_t bytes) {
  return std::malloc(bytes);
}
// All that the project throws derives from std::exception first.
[[noreturn]] void __cxa_throw(void* thrown, std::type_info*, void (*)(void*)) {
  lab_end(static_cast<std::exception*>(thrown)->what());
}

// Of the one thread's variables: the module is forgotten with it.
int __cxa_thread_atexit(void (*)(void*), void*, void*) {
  return 0;
}
}
