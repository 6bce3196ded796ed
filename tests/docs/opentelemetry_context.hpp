// What the snippets with OpenTelemetry leave out.
#pragma once

#include <sley/go.hpp>
#include <sley/opentelemetry.hpp>

namespace interoperation {
void work();
}  // namespace interoperation
