#pragma once

namespace cpu_device {

// A switch: what runs from now on is no endless loop yet.
void thread_goes_on();

}  // namespace cpu_device
