#pragma once
// Included before a kernel's header, leaves it as it is. recorded.cuh does not.
#include "timeline/event.h"
