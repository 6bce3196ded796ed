// The settings of the library, as programs ask for them.
#include <sley/detail/config.hpp>

#define SLEY_SAME_SETTING(name)    \
  extern SLEY_API const char name; \
  const char name = 0;
#define SLEY_OTHER_FILES_MAY_LACK(name)
#include <sley/detail/link_check.hpp>
