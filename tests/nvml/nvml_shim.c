/* A stand-in for libnvidia-ml.so.1 with the functions that Steward asks for.
 *
 * Every call reads its answer from the text file named by NVML_SHIM_STATE, one "key value" a line, so that a test changes
 * the cards while the program runs. "fault.FUNCTION CODE", "fault.CARD CODE" and "fault.CARD.FUNCTION CODE" make calls fail;
 * "hang.FUNCTION 1" keeps a call from returning for as long as the line stands; "xid.CARD CODE CODE" are the Xids that a card
 * has had, of which a registered event set is told each new one once. Compile with -DOLD_DRIVER for a library that
 * lacks the newer symbols, and with -DNO_UTILIZATION for one that lacks a symbol without an older form.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, BAD_ARGUMENT = 2, NOT_SUPPORTED = 3, TOO_SMALL = 7, TIMED_OUT = 10, XID = 8, TEXT = 256, LINE = 4096 };

typedef void *device;
typedef unsigned long long bytes;
typedef struct { bytes total, free, used; } memory;
typedef struct { unsigned version; bytes total, reserved, free, used; } memory_v2;
typedef struct { unsigned pid; bytes used; unsigned gpu_instance, compute_instance; } process;
typedef struct { unsigned gpu, memory; } rates;
typedef struct { unsigned version, sensor; int degrees; } temperature_v1;
typedef struct { device card; bytes type, data; unsigned gpu_instance, compute_instance; } event;
typedef struct { device card; unsigned told; } event_set;
typedef struct { char legacy[16]; unsigned domain, bus, slot, id, subsystem; char bus_id[32]; } pci;

static int look(const char *key, char *value, size_t size) {
    const char *path = getenv("NVML_SHIM_STATE");
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[LINE];
    size_t length = strlen(key);
    int found = 0;
    if (!file) return 0;
    while (!found && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, length) || line[length] != ' ') continue;
        line[strcspn(line, "\n")] = 0;
        snprintf(value, size, "%s", line + length + 1);
        found = 1;
    }
    fclose(file);
    return found;
}

static int number_at(const char *key, bytes *value) {
    char text[TEXT];
    if (!look(key, text, sizeof text)) return 0;
    *value = strtoull(text, NULL, 10);
    return 1;
}

static int code_at(const char *key) {
    bytes code = 0;
    return number_at(key, &code) ? (int)code : OK;
}

static int index_of(device card) { return (int)(size_t)card - 1; }

/* Waits while the state says that this function hangs, then gives the code that it has to return. */
static int gate(const char *function, device card) {
    char key[TEXT];
    int code;
    snprintf(key, sizeof key, "hang.%s", function);
    while (code_at(key)) usleep(10000);
    snprintf(key, sizeof key, "fault.%s", function);
    if ((code = code_at(key)) || !card) return code;
    snprintf(key, sizeof key, "fault.%d", index_of(card));
    if ((code = code_at(key))) return code;
    snprintf(key, sizeof key, "fault.%d.%s", index_of(card), function);
    return code_at(key);
}

static int card_text(device card, const char *name, char *value, unsigned size) {
    char key[TEXT];
    snprintf(key, sizeof key, "card.%d.%s", index_of(card), name);
    return look(key, value, size) ? OK : NOT_SUPPORTED;
}

static int card_number(const char *function, device card, const char *name, unsigned *value) {
    char text[TEXT];
    int code = gate(function, card);
    if (code || (code = card_text(card, name, text, sizeof text))) return code;
    *value = (unsigned)strtoul(text, NULL, 10);
    return OK;
}

static int sizes(const char *function, device card, bytes *total, bytes *reserved, bytes *used) {
    char text[TEXT];
    int code = gate(function, card);
    if (code || (code = card_text(card, "memory", text, sizeof text))) return code;
    return sscanf(text, "%llu %llu %llu", total, reserved, used) == 3 ? OK : NOT_SUPPORTED;
}

static int processes(const char *function, device card, const char *name, unsigned *count, process *list) {
    char text[LINE], *entry, *rest;
    unsigned found = 0, room = *count;
    int code = gate(function, card);
    if (code) return code;
    if (card_text(card, name, text, sizeof text)) text[0] = 0;
    for (entry = strtok_r(text, " ", &rest); entry; entry = strtok_r(NULL, " ", &rest), found++) {
        char *used = strchr(entry, ':');
        if (!list || found >= room) continue;
        memset(&list[found], 0, sizeof *list);
        list[found].pid = (unsigned)strtoul(entry, NULL, 10);
        list[found].used = used && used[1] != '?' ? strtoull(used + 1, NULL, 10) : (bytes)-1;
    }
    *count = found;
    return found > (list ? room : 0) ? TOO_SMALL : OK;
}

static int address(const char *text, pci *place) {
    memset(place, 0, sizeof *place);
    if (sscanf(text, "%x:%x:%x", &place->domain, &place->bus, &place->slot) != 3) return NOT_SUPPORTED;
    snprintf(place->bus_id, sizeof place->bus_id, "%08x:%02x:%02x.0", place->domain, place->bus, place->slot);
    return OK;
}

int nvmlInitWithFlags(unsigned flags) { (void)flags; return gate("nvmlInitWithFlags", NULL); }
int nvmlShutdown(void) { return gate("nvmlShutdown", NULL); }
const char *nvmlErrorString(int code) { (void)code; return "an error of the shim"; }

int nvmlSystemGetDriverVersion(char *text, unsigned size) {
    int code = gate("nvmlSystemGetDriverVersion", NULL);
    return code ? code : look("driver", text, size) ? OK : NOT_SUPPORTED;
}

static int cuda(const char *function, int *version) {
    bytes value = 0;
    int code = gate(function, NULL);
    if (code || !number_at("cuda", &value)) return code ? code : NOT_SUPPORTED;
    *version = (int)value;
    return OK;
}

int nvmlSystemGetCudaDriverVersion(int *version) { return cuda("nvmlSystemGetCudaDriverVersion", version); }

int nvmlDeviceGetCount_v2(unsigned *count) {
    bytes value = 0;
    int code = gate("nvmlDeviceGetCount_v2", NULL);
    if (code) return code;
    number_at("cards", &value);
    *count = (unsigned)value;
    return OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, device *card) {
    *card = (device)(size_t)(index + 1);
    return gate("nvmlDeviceGetHandleByIndex_v2", *card);
}

int nvmlDeviceGetUUID(device card, char *text, unsigned size) {
    int code = gate("nvmlDeviceGetUUID", card);
    return code ? code : card_text(card, "uuid", text, size);
}

int nvmlDeviceGetName(device card, char *text, unsigned size) {
    int code = gate("nvmlDeviceGetName", card);
    return code ? code : card_text(card, "name", text, size);
}

int nvmlDeviceGetMemoryInfo(device card, memory *answer) {
    bytes total, reserved, used;
    int code = sizes("nvmlDeviceGetMemoryInfo", card, &total, &reserved, &used);
    if (code) return code;
    *answer = (memory){total, total - reserved - used, reserved + used};
    return OK;
}

int nvmlDeviceGetComputeRunningProcesses_v2(device card, unsigned *count, process *list) {
    return processes("nvmlDeviceGetComputeRunningProcesses_v2", card, "compute", count, list);
}

int nvmlDeviceGetGraphicsRunningProcesses_v2(device card, unsigned *count, process *list) {
    return processes("nvmlDeviceGetGraphicsRunningProcesses_v2", card, "graphics", count, list);
}

int nvmlDeviceGetTemperature(device card, unsigned sensor, unsigned *degrees) {
    (void)sensor;
    return card_number("nvmlDeviceGetTemperature", card, "temperature", degrees);
}

#ifndef OLD_DRIVER
int nvmlSystemGetCudaDriverVersion_v2(int *version) { return cuda("nvmlSystemGetCudaDriverVersion_v2", version); }

int nvmlDeviceGetMemoryInfo_v2(device card, memory_v2 *answer) {
    bytes total, reserved, used;
    int code = sizes("nvmlDeviceGetMemoryInfo_v2", card, &total, &reserved, &used);
    if (code) return code;
    if (answer->version != 0x02000028) return BAD_ARGUMENT;
    *answer = (memory_v2){answer->version, total, reserved, total - reserved - used, used};
    return OK;
}

int nvmlDeviceGetComputeRunningProcesses_v3(device card, unsigned *count, process *list) {
    return processes("nvmlDeviceGetComputeRunningProcesses_v3", card, "compute", count, list);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(device card, unsigned *count, process *list) {
    return processes("nvmlDeviceGetGraphicsRunningProcesses_v3", card, "graphics", count, list);
}

int nvmlDeviceGetTemperatureV(device card, temperature_v1 *answer) {
    unsigned degrees = 0;
    int code = card_number("nvmlDeviceGetTemperatureV", card, "temperature", &degrees);
    if (!code && answer->version != 0x0100000C) return BAD_ARGUMENT;
    answer->degrees = (int)degrees;
    return code;
}
#endif

#ifndef NO_UTILIZATION
int nvmlDeviceGetUtilizationRates(device card, rates *answer) {
    answer->memory = 0;
    return card_number("nvmlDeviceGetUtilizationRates", card, "busy", &answer->gpu);
}
#endif

#define CARD_NUMBER(function, name) \
    int function(device card, unsigned *value) { return card_number(#function, card, name, value); }
CARD_NUMBER(nvmlDeviceGetPowerUsage, "power")
CARD_NUMBER(nvmlDeviceGetPowerManagementLimit, "limit")
CARD_NUMBER(nvmlDeviceGetEnforcedPowerLimit, "enforced")
CARD_NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, "generation")
CARD_NUMBER(nvmlDeviceGetCurrPcieLinkWidth, "width")
CARD_NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, "max_generation")
CARD_NUMBER(nvmlDeviceGetMaxPcieLinkWidth, "max_width")
CARD_NUMBER(nvmlDeviceGetPersistenceMode, "persistence")

int nvmlDeviceGetCudaComputeCapability(device card, int *major, int *minor) {
    char text[TEXT];
    int code = gate("nvmlDeviceGetCudaComputeCapability", card);
    if (code || (code = card_text(card, "capability", text, sizeof text))) return code;
    return sscanf(text, "%d.%d", major, minor) == 2 ? OK : NOT_SUPPORTED;
}

int nvmlDeviceGetPciInfo_v3(device card, pci *place) {
    char text[TEXT];
    int code = gate("nvmlDeviceGetPciInfo_v3", card);
    return code || (code = card_text(card, "bus", text, sizeof text)) ? code : address(text, place);
}

/* "card.N.link.L KIND ADDRESS" with KIND off, card or switch. */
static int link_of(const char *function, device card, unsigned link, char *kind, char *place) {
    char name[TEXT], text[TEXT];
    int code = gate(function, card);
    if (code) return code;
    snprintf(name, sizeof name, "link.%u", link);
    if (card_text(card, name, text, sizeof text)) return link ? BAD_ARGUMENT : NOT_SUPPORTED;
    kind[0] = place[0] = 0;
    sscanf(text, "%15s %31s", kind, place);
    return OK;
}

int nvmlDeviceGetNvLinkState(device card, unsigned link, unsigned *active) {
    char kind[16] = "", place[32] = "";
    int code = link_of("nvmlDeviceGetNvLinkState", card, link, kind, place);
    *active = !code && strcmp(kind, "off");
    return code;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(device card, unsigned link, pci *remote) {
    char kind[16] = "", place[32] = "";
    int code = link_of("nvmlDeviceGetNvLinkRemotePciInfo_v2", card, link, kind, place);
    return code ? code : address(place, remote);
}

int nvmlDeviceGetNvLinkRemoteDeviceType(device card, unsigned link, unsigned *type) {
    char kind[16] = "", place[32] = "";
    int code = link_of("nvmlDeviceGetNvLinkRemoteDeviceType", card, link, kind, place);
    *type = strcmp(kind, "switch") ? 0 : 2;
    return code;
}

/* How many Xids the card has had, and the one at this place among them. */
static unsigned xids(device card, unsigned place, bytes *code) {
    char key[TEXT], text[LINE], *entry, *rest;
    unsigned found = 0;
    snprintf(key, sizeof key, "xid.%d", index_of(card));
    if (!look(key, text, sizeof text)) return 0;
    for (entry = strtok_r(text, " ", &rest); entry; entry = strtok_r(NULL, " ", &rest), found++)
        if (found == place) *code = strtoull(entry, NULL, 10);
    return found;
}

int nvmlDeviceGetSupportedEventTypes(device card, bytes *types) {
    char text[TEXT];
    int code = gate("nvmlDeviceGetSupportedEventTypes", card);
    if (code || (code = card_text(card, "events", text, sizeof text))) return code;
    *types = strtoull(text, NULL, 10);
    return OK;
}

int nvmlEventSetCreate(event_set **set) {
    int code = gate("nvmlEventSetCreate", NULL);
    *set = code ? NULL : calloc(1, sizeof **set);
    return code;
}

int nvmlDeviceRegisterEvents(device card, bytes types, event_set *set) {
    bytes code = 0;
    int fault = gate("nvmlDeviceRegisterEvents", card);
    if (fault || types != XID) return fault ? fault : NOT_SUPPORTED;
    *set = (event_set){card, xids(card, 0, &code)};
    return OK;
}

/* Whatever the time to wait, nothing comes while it waits. What a card reported before it was lost is still told. */
int nvmlEventSetWait_v2(event_set *set, event *answer, unsigned milliseconds) {
    bytes code = 0;
    int fault;
    (void)milliseconds;
    if (set->card && xids(set->card, set->told, &code) > set->told) {
        set->told++;
        *answer = (event){set->card, XID, code, (unsigned)-1, (unsigned)-1};
        return OK;
    }
    fault = gate("nvmlEventSetWait_v2", set->card);
    return fault ? fault : TIMED_OUT;
}

int nvmlEventSetFree(event_set *set) {
    free(set);
    return gate("nvmlEventSetFree", NULL);
}
