/* The last step of a box's set-up: become the world's user, take on the world's environment, run its program.
 *
 *   become [setpriv --reuid ID --regid ID --clear-groups --inh-caps=-all --bounding-set=-all[,+NAME...]] PROGRAM ARGS...
 *
 * By now the box holds what the world declares, which may be another setpriv, C library or ld.so.preload. So this is
 * linked statically, lies on a mount that nothing in the box can write, and looks at nothing but the file of variables
 * before the rights are gone. The words are those of setpriv, which is what `ps` shows of the set-up.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define VARIABLES "/run/.clock/variables" /* NAME=VALUE, each ended by NUL */

static void fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(127);
}

static const struct { const char *name; int number; } known[] = {
    {"chown", CAP_CHOWN}, {"dac_override", CAP_DAC_OVERRIDE}, {"fowner", CAP_FOWNER}, {"fsetid", CAP_FSETID},
    {"kill", CAP_KILL}, {"setgid", CAP_SETGID}, {"setuid", CAP_SETUID},
    {"net_bind_service", CAP_NET_BIND_SERVICE}, {"sys_chroot", CAP_SYS_CHROOT},
};

/* Which capabilities a list like "-all,+chown" keeps, as bits. */
static uint64_t kept(char *list)
{
    uint64_t bits = 0;
    for (char *word = strtok(list, ","); word; word = strtok(0, ","))
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (*word == '+' && !strcmp(word + 1, known[i].name)) bits |= 1ULL << known[i].number;
    return bits;
}

static void become(unsigned id, uint64_t keep)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    for (int number = 0; number < 64 && prctl(PR_CAPBSET_READ, number) >= 0; number++)
        if (!(keep >> number & 1) && prctl(PR_CAPBSET_DROP, number)) fail("bounding set");
    if (syscall(SYS_capget, &header, data)) fail("capget");
    data[0].inheritable = data[1].inheritable = 0;
    if (syscall(SYS_capset, &header, data)) fail("capset");
    if (setgroups(0, 0)) fail("setgroups");
    if (setresgid(id, id, id)) fail("setresgid");
    if (setresuid(id, id, id)) fail("setresuid");
}

static char **variables(void)
{
    struct stat about;
    int fd = open(VARIABLES, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &about)) fail(VARIABLES);
    size_t size = about.st_size, count = 0, have = 0;
    char *text = malloc(size + 1);
    if (!text) fail("memory");
    while (have < size) {
        ssize_t got = read(fd, text + have, size - have);
        if (got <= 0) fail(VARIABLES);
        have += got;
    }
    close(fd);
    text[size] = 0;
    for (size_t i = 0; i < size; i++) count += !text[i];
    char **list = malloc((count + 1) * sizeof *list);
    if (!list) fail("memory");
    for (size_t i = 0; i < count; i++, text += strlen(text) + 1) list[i] = text;
    list[count] = 0;
    return list;
}

int main(int argc, char **argv)
{
    char path[4096];
    const char bounds[] = "--bounding-set=";
    char **rest = argv + 1;
    if (argc > 9 && !strcmp(argv[1], "setpriv") && !strncmp(argv[8], bounds, sizeof bounds - 1)) {
        become(strtoul(argv[3], 0, 10), kept(argv[8] + sizeof bounds - 1));
        rest = argv + 9;
    }
    if (!*rest) return 127;
    snprintf(path, sizeof path, "%s%s", strchr(*rest, '/') ? "" : "/usr/bin/", *rest);
    execve(path, rest, variables());
    fail(path);
}
