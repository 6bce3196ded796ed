// Which libraries sley was built without: SLEY_WITHOUT_HTTP, SLEY_WITHOUT_TLS and
// SLEY_WITHOUT_TESTING. A build puts a header of its own in the place of this one, which names
// none.
#pragma once

#include <sley/detail/language.hpp>
