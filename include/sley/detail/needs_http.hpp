#pragma once

#include <sley/detail/parts.hpp>

#ifdef SLEY_WITHOUT_HTTP
#error "sley: <sley/http.hpp> is not there: this sley was built without it (SLEY_HTTP=OFF)"
#endif
