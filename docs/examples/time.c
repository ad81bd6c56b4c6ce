#define TRAINLAW_IMPLEMENTATION
#include "law.h"
#include <stdio.h>

int main(void) {
    trainlaw_options options = {.layout = "channels_last", .pixels = 96};
    trainlaw_prediction found;
    trainlaw_status status = trainlaw_predict("resnet50", "T4", 64, "amp", &options, &found);
    if (status != TRAINLAW_OK) return puts(trainlaw_message(status)), 1;
    printf("%.6f s, %.6f to %.6f s\n", found.time_s, found.low_s, found.high_s);
}
