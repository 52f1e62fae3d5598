/* Part of the static programs. Without it, they would load the modules of other C libraries that /etc/nsswitch.conf names,
   and could crash in them. The modules for files and DNS are part of the program (glibc 2.34 or newer). */
#include <nss.h>

__attribute__((constructor)) static void use_files_and_dns(void) {
    __nss_configure_lookup("hosts", "files dns");
    __nss_configure_lookup("passwd", "files");
}
